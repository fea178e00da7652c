package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MaintenanceSchedule says when nodes may be taken out of service.
//
// With several schedules, windows add up and the exclusions of any of them win.
// A node that no window matches is never touched. A schedule with only
// exclusions is a freeze.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=kums,categories=kubeupgrade
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.status.untilTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Open")].message`
// +kubebuilder:printcolumn:name="Zone",type=string,priority=1,JSONPath=`.spec.timeZone`
// +kubebuilder:printcolumn:name="Valid",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Valid")].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Valid")].message`
type MaintenanceSchedule struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is when nodes may and may not be taken out of service.
	// +required
	Spec MaintenanceScheduleSpec `json:"spec"`
	// Status is what the coordinator derives from the spec.
	// +default={"observedGeneration":-1}
	// +optional
	Status MaintenanceScheduleStatus `json:"status,omitzero"`
}

// MaintenanceScheduleSpec is the schedule as a person writes it.
type MaintenanceScheduleSpec struct {
	// TimeZone is the IANA name of the zone whose wall clock the recurrences
	// follow, such as Europe/Berlin.
	// +default="UTC"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self != 'Local' && self.matches('^[A-Z][-+A-Za-z0-9_]*(/[A-Z][-+A-Za-z0-9_]*)*$') && timestamp('2000-01-01T00:00:00Z').getFullYear(self) > 0",message="must be the IANA name of a time zone, such as Europe/Berlin or UTC"
	// +optional
	TimeZone string `json:"timeZone,omitempty"`

	// NodeSelector limits the schedule to the nodes it matches. Absent: every
	// node.
	// +optional
	NodeSelector *LabelSelector `json:"nodeSelector,omitempty"`

	// MaintenanceWindows are the times when nodes may be taken out of service.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +optional
	MaintenanceWindows []MaintenanceWindow `json:"maintenanceWindows,omitempty"`

	// MaintenanceExclusions are the times when nothing may begin, even in an open
	// window.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +optional
	MaintenanceExclusions []MaintenanceExclusion `json:"maintenanceExclusions,omitempty"`
}

// MaintenanceWindow is a time span that may recur.
type MaintenanceWindow struct {
	Period `json:",inline"`
}

// MaintenanceExclusion is a time span in which nothing may begin.
type MaintenanceExclusion struct {
	Period `json:",inline"`

	// Comment is shown with each node that waits because of this exclusion.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Comment string `json:"comment,omitempty"`

	// UpgradeTypes are the types of upgrade that are excluded. Absent: all, also those that
	// later versions add.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5
	// +optional
	UpgradeTypes []UpgradeType `json:"upgradeTypes,omitempty"`
}

// Period is a time span from startTime (in) to endTime (out) that may recur.
//
// +kubebuilder:validation:XValidation:rule="self.startTime < self.endTime",message="must be later than startTime",fieldPath=".endTime"
// +kubebuilder:validation:XValidation:rule="self.startTime.getFullYear() >= 1970 && self.startTime.getFullYear() <= 2999",message="must lie in the years 1970 to 2999",fieldPath=".startTime"
type Period struct {
	// Name identifies this entry in the list.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be of lower-case letters, digits, '-' and '.', and begin and end with a letter or digit"
	// +required
	Name string `json:"name"`

	// StartTime is the instant from which the span counts, RFC 3339. It begins the
	// first occurrence, unless its day is not one of the recurrence: that day is
	// skipped.
	// +required
	StartTime metav1.Time `json:"startTime"`

	// EndTime is the first instant after the span that begins at startTime,
	// RFC 3339.
	// +required
	EndTime metav1.Time `json:"endTime"`

	// Recurrence is an RFC 5545 RRULE such as FREQ=WEEKLY;BYDAY=SA,SU that
	// repeats the span on the wall clock of the schedule's zone. DAILY,
	// WEEKLY, MONTHLY and YEARLY; no BYHOUR, BYMINUTE or BYSECOND. Absent:
	// once.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('(?i)^(RRULE:)?(((FREQ|BYHOUR|BYMINUTE|BYSECOND)=[A-Z0-9,]+|WKST=(MO|TU|WE|TH|FR|SA|SU)|INTERVAL=([1-9][0-9]{0,2}|1000)|COUNT=[1-9][0-9]{0,5}|UNTIL=(([0-9]{4}((0[1-9]|1[0-2])(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])(29|30)|(0[13578]|1[02])31))|([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[048]|[2468][048]|[13579][26])00)0229)T([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]Z|BYMONTH=(0?[1-9]|1[0-2])(,(0?[1-9]|1[0-2]))*|BYMONTHDAY=[-+]?(0?[1-9]|[12][0-9]|3[01])(,[-+]?(0?[1-9]|[12][0-9]|3[01]))*|BYSETPOS=[-+]?(0{0,2}[1-9]|0?[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6])(,[-+]?(0{0,2}[1-9]|0?[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6]))*|BYDAY=([-+]?(0?[1-9]|[1-4][0-9]|5[0-3]))?(MO|TU|WE|TH|FR|SA|SU)(,([-+]?(0?[1-9]|[1-4][0-9]|5[0-3]))?(MO|TU|WE|TH|FR|SA|SU))*)(;|$))+$') && !self.endsWith(';')",message="must be one RFC 5545 rule on one line, such as FREQ=WEEKLY;BYDAY=SA,SU, made of FREQ, INTERVAL (to 1000), COUNT (to 999999), UNTIL (an instant in UTC, 20261231T235959Z), WKST, BYMONTH, BYMONTHDAY, BYDAY and BYSETPOS"
	// +kubebuilder:validation:XValidation:rule="self.matches('(?i)FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)([^A-Z]|$)')",message="FREQ must be DAILY, WEEKLY, MONTHLY or YEARLY"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(?i)BY(HOUR|MINUTE|SECOND)=')",message="BYHOUR, BYMINUTE and BYSECOND are not supported: the time of day is that of startTime"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(?i)(FREQ=.*FREQ=|INTERVAL=.*INTERVAL=|COUNT=.*COUNT=|UNTIL=.*UNTIL=|WKST=.*WKST=|BYMONTH=.*BYMONTH=|BYMONTHDAY=.*BYMONTHDAY=|BYDAY=.*BYDAY=|BYSETPOS=.*BYSETPOS=)')",message="no part may be given twice"
	// +kubebuilder:validation:XValidation:rule="!(self.matches('(?i)COUNT=') && self.matches('(?i)UNTIL='))",message="COUNT and UNTIL cannot both be given"
	// +kubebuilder:validation:XValidation:rule="!(self.matches('(?i)FREQ=WEEKLY') && self.matches('(?i)BYMONTHDAY='))",message="BYMONTHDAY does not go with FREQ=WEEKLY"
	// +kubebuilder:validation:XValidation:rule="!(self.matches('(?i)FREQ=(DAILY|WEEKLY)') && self.matches('(?i)(BYSETPOS=|[0-9](MO|TU|WE|TH|FR|SA|SU))'))",message="BYSETPOS, and an ordinal such as -1SU in BYDAY, need FREQ=MONTHLY or YEARLY"
	// +kubebuilder:validation:XValidation:rule="!(self.matches('(?i)(FREQ=MONTHLY|BYMONTH=)') && self.matches('(?i)([1-9][0-9]|[6-9])(MO|TU|WE|TH|FR|SA|SU)'))",message="with FREQ=MONTHLY or BYMONTH, an ordinal of BYDAY counts within the month (to 5)"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(?i)BYSETPOS=') || self.matches('(?i)BY(MONTH|MONTHDAY|DAY)=')",message="BYSETPOS needs another BY part"
	// +optional
	Recurrence string `json:"recurrence,omitempty"`
}

// MaintenanceScheduleStatus is what the coordinator derives from the schedule.
type MaintenanceScheduleStatus struct {
	// Conditions: Valid and Ready are False, and Stalled True, while the schedule is invalid; Open is
	// True while state is Open, and while an exclusion holds its message is the comment of that.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the generation that this status is about; -1 before
	// the coordinator has seen the object.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State is Open, Closed or Excluded, now, for this schedule alone.
	// +kubebuilder:validation:Enum=Open;Closed;Excluded
	// +optional
	State string `json:"state,omitempty"`

	// UntilTime is when State changes next, if that is known.
	// +optional
	UntilTime *metav1.Time `json:"untilTime,omitempty"`
}

// MaintenanceScheduleList is a list of schedules.
// +kubebuilder:object:root=true
type MaintenanceScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MaintenanceSchedule `json:"items"`
}
