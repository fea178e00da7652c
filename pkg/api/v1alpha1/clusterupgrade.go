package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterUpgrade says what the cluster shall become, and records how it went.
// One is active at a time; the others queue. Finished ones are the history.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=cu,categories=upgrade
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.status.type`
// +kubebuilder:printcolumn:name="From",type=string,JSONPath=`.status.fromVersion`
// +kubebuilder:printcolumn:name="To",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Done",type=string,JSONPath=`.status.progress`
// +kubebuilder:printcolumn:name="Outcome",type=string,JSONPath=`.status.outcome`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="Triggered",type=date,JSONPath=`.status.triggeredAt`
// +kubebuilder:printcolumn:name="Finished",type=date,JSONPath=`.status.finishedAt`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Succeeded")].message`
type ClusterUpgrade struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	Spec ClusterUpgradeSpec `json:"spec"`
	// Status is how it goes, or went.
	// +optional
	Status ClusterUpgradeStatus `json:"status,omitzero"`
}

// ClusterUpgradeSpec is what a person, Git or the coordinator wants.
//
// +kubebuilder:validation:XValidation:rule="has(self.version) || (has(self.type) && self.type == 'Reboot')",message="is needed, such as v1.34.4, unless type is Reboot",fieldPath=".version"
// +kubebuilder:validation:XValidation:rule="!has(self.version) || !has(self.type) || self.type != 'Reboot'",message="must be absent where type is Reboot",fieldPath=".version"
// +kubebuilder:validation:XValidation:rule="has(self.version) == has(oldSelf.version) && (!has(self.version) || self.version == oldSelf.version)",message="cannot be changed, as its images are fixed at the trigger; create another ClusterUpgrade",fieldPath=".version"
// +kubebuilder:validation:XValidation:rule="has(self.type) == has(oldSelf.type) && (!has(self.type) || self.type == oldSelf.type)",message="cannot be changed; create another ClusterUpgrade",fieldPath=".type"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type == 'Patch' || self.strategy.method != 'Restart'",message="Restart is for patches; use Reboot",fieldPath=".strategy.method"
type ClusterUpgradeSpec struct {
	// Type is derived from version where it is absent; where it is given it
	// must agree. Reboot needs no version.
	// +optional
	Type UpgradeType `json:"type,omitempty"`

	// Version is the Kubernetes version to reach, such as v1.34.4.
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^v1[.](0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})$')",message="must be a released version of Kubernetes in full, such as v1.34.4"
	// +optional
	Version string `json:"version,omitempty"`

	// StartTime is the first instant at which a node may begin. Images are
	// staged before.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// Suspend stops before the next node; nodes past their last check finish.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Schedule is Respect, or Ignore to skip windows. Exclusions are never
	// skipped.
	// +kubebuilder:validation:Enum=Respect;Ignore
	// +kubebuilder:default=Respect
	// +optional
	Schedule ScheduleMode `json:"schedule,omitempty"`

	// IgnoreChecks lists the ids of preflight findings that shall not block.
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:MinLength=1
	// +optional
	IgnoreChecks []string `json:"ignoreChecks,omitempty"`

	// Strategy is how nodes are taken: how many, in what order, how gently.
	// +kubebuilder:default={}
	// +optional
	Strategy Strategy `json:"strategy,omitzero"`
}

// ScheduleMode says whether windows count.
type ScheduleMode string

// The schedule modes.
const (
	ScheduleRespect ScheduleMode = "Respect"
	ScheduleIgnore  ScheduleMode = "Ignore"
)

// Outcome is how a ClusterUpgrade ended.
// +kubebuilder:validation:Enum=Succeeded;Failed;RolledBack
type Outcome string

// The outcomes.
const (
	OutcomeSucceeded  Outcome = "Succeeded"
	OutcomeFailed     Outcome = "Failed"
	OutcomeRolledBack Outcome = "RolledBack"
)

// ClusterUpgradeStatus is the record, written by the coordinator.
type ClusterUpgradeStatus struct {
	// ObservedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Type is spec.type, or what was derived from the versions.
	// +optional
	Type UpgradeType `json:"type,omitempty"`

	// TriggeredAt is when this upgrade became the active one and its images
	// were fixed.
	// +optional
	TriggeredAt *metav1.Time `json:"triggeredAt,omitempty"`

	// FinishedAt is when it ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`

	// FromVersion is the oldest kubelet's version at the trigger.
	// +optional
	FromVersion string `json:"fromVersion,omitempty"`

	// ToVersion is the version wanted.
	// +optional
	ToVersion string `json:"toVersion,omitempty"`

	// Outcome is empty until the upgrade ended.
	// +optional
	Outcome Outcome `json:"outcome,omitempty"`

	// Nodes counts the nodes.
	// +optional
	Nodes NodeCounts `json:"nodes,omitzero"`

	// Progress is done/total, for people.
	// +optional
	Progress string `json:"progress,omitempty"`

	// Active are the nodes that are at work now.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Active []NodeNote `json:"active,omitempty"`

	// Blocked are the first few nodes that failed or cannot go on by
	// themselves.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Blocked []NodeNote `json:"blocked,omitempty"`

	// PreflightAt is when preflight ran last, with microseconds: an earlier report
	// never takes the place of a later one.
	// +optional
	PreflightAt *metav1.MicroTime `json:"preflightAt,omitempty"`

	// Findings are what preflight found at the last run, what blocks first; those
	// that were ignored before stay. Where there are too many, those of the checks
	// with most are left out, and a last one of the same check says how many.
	// +kubebuilder:validation:MaxItems=128
	// +listType=atomic
	// +optional
	Findings []Finding `json:"findings,omitempty"`

	// Images are fixed at the trigger, one for each architecture: nothing else
	// is ever merged for this upgrade.
	// +listType=map
	// +listMapKey=architecture
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Images []Image `json:"images,omitempty"`

	// EtcdSnapshot is where the snapshot that was taken first lies.
	// +optional
	EtcdSnapshot *EtcdSnapshot `json:"etcdSnapshot,omitempty"`

	// Record says how each node went, once the upgrade is over: the first nodes
	// in their order, where there are more than it may hold.
	// +kubebuilder:validation:MaxItems=5000
	// +listType=atomic
	// +optional
	Record []NodeRecord `json:"record,omitempty"`

	// Conditions: Succeeded, Reconciling, Stalled.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeCounts counts nodes by what the planner decided for them.
type NodeCounts struct {
	// Total is how many nodes this upgrade concerns, unsupported ones left out.
	Total int32 `json:"total"`
	// Done are as wanted.
	Done int32 `json:"done"`
	// Active are at work.
	Active int32 `json:"active"`
	// Waiting will go by themselves.
	Waiting int32 `json:"waiting"`
	// Blocked or failed need somebody.
	Blocked int32 `json:"blocked"`
	// Unsupported nodes are not counted in Total.
	Unsupported int32 `json:"unsupported"`
}

// NodeNote names a node and what it is at.
type NodeNote struct {
	// Name of the node.
	Name string `json:"name"`
	// Step the node is at.
	// +optional
	Step Step `json:"step,omitempty"`
	// Reason code.
	// +optional
	Reason Reason `json:"reason,omitempty"`
	// Message in one sentence.
	// +optional
	Message string `json:"message,omitempty"`
}

// FindingLevel says what a finding does.
// +kubebuilder:validation:Enum=Block;Warn
type FindingLevel string

// The levels.
const (
	LevelBlock FindingLevel = "Block" // nothing begins until it is mended or ignored
	LevelWarn  FindingLevel = "Warn"  // for people to know
)

// NodeRecord says how one node went.
type NodeRecord struct {
	// Name of the node.
	Name string `json:"name"`
	// From is the kubelet's version at the trigger.
	// +optional
	From string `json:"from,omitempty"`
	// To is the kubelet's version at the end.
	// +optional
	To string `json:"to,omitempty"`
	// StartedAt is when the node first took its slot. Absent: it was not touched.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// FinishedAt is when it was back in service.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// Attempts counts how often it began.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// ComponentsSeconds is how long kubeadm's part took on a control plane: from
	// taking the slot to freeing it. Absent: there was none, or it was given up.
	// +optional
	ComponentsSeconds int32 `json:"componentsSeconds,omitempty"`
	// RebootSeconds is how long the node's part took, without the settle time,
	// where it went with a reboot. Absent: it did not, or it was given up.
	// +optional
	RebootSeconds int32 `json:"rebootSeconds,omitempty"`
	// RestartSeconds is the same where it went with a restart of the kubelet
	// alone.
	// +optional
	RestartSeconds int32 `json:"restartSeconds,omitempty"`
	// Reason it ended with, where it is not UpToDate.
	// +optional
	Reason Reason `json:"reason,omitempty"`
}

// Finding is one thing that preflight noticed.
type Finding struct {
	// ID names the check, as ignoreChecks does.
	ID string `json:"id"`
	// Level is Block or Warn.
	Level FindingLevel `json:"level"`
	// Node that it is about: a Block then holds that node alone. Empty: it
	// holds the whole upgrade.
	// +optional
	Node string `json:"node,omitempty"`
	// Object that it is about, as kind/namespace/name.
	// +optional
	Object string `json:"object,omitempty"`
	// Message says what is wrong.
	Message string `json:"message"`
	// Advice says what to do.
	// +optional
	Advice string `json:"advice,omitempty"`
	// Ignored is true where ignoreChecks let it through.
	// +optional
	Ignored bool `json:"ignored,omitempty"`
}

// Image is a sysext image, fixed by its hash.
type Image struct {
	// Architecture as systemd names it: x86-64 or arm64.
	// +kubebuilder:validation:Enum=x86-64;arm64
	Architecture string `json:"architecture"`
	// URL of the image file.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/]+/')",message="must be an http or https address"
	URL string `json:"url"`
	// SHA256 of the image file, in lower-case hex.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{64}$')",message="must be the 64 lower-case hex digits of a SHA-256"
	SHA256 string `json:"sha256"`
}

// EtcdSnapshot is a verified snapshot of etcd's database on a node's disk.
type EtcdSnapshot struct {
	// Upgrade it was taken for.
	// +optional
	Upgrade string `json:"upgrade,omitempty"`
	// Node that has it.
	Node string `json:"node"`
	// Path on that node.
	Path string `json:"path"`
	// SHA256 of the file.
	SHA256 string `json:"sha256"`
	// TakenAt is when.
	TakenAt metav1.Time `json:"takenAt"`
}

// ClusterUpgradeList is a list of upgrades.
// +kubebuilder:object:root=true
type ClusterUpgradeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterUpgrade `json:"items"`
}
