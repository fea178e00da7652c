package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterUpgrade asks for an upgrade of the cluster, and shows how it stands. One
// is active at a time; the others wait in a queue. How each node of an ended one
// went is kept in UpgradeRecords.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=kucu,categories=upgrade
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.status.type`
// +kubebuilder:printcolumn:name="From",type=string,JSONPath=`.status.fromVersion`
// +kubebuilder:printcolumn:name="To",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Done",type=string,JSONPath=`.status.progress`
// +kubebuilder:printcolumn:name="Outcome",type=string,JSONPath=`.status.outcome`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Triggered",type=date,priority=1,JSONPath=`.status.triggerTime`
// +kubebuilder:printcolumn:name="Completed",type=date,priority=1,JSONPath=`.status.completionTime`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Succeeded")].message`
type ClusterUpgrade struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is asked for.
	Spec ClusterUpgradeSpec `json:"spec"`
	// Status is how it stands. The coordinator writes it.
	// +kubebuilder:default={observedGeneration:-1}
	// +optional
	Status ClusterUpgradeStatus `json:"status,omitzero"`
}

// ClusterUpgradeSpec is what a person, Git or the coordinator asks for.
//
// +kubebuilder:validation:XValidation:rule="has(self.version) || (has(self.type) && self.type == 'Reboot')",message="is needed, such as v1.34.4, unless type is Reboot",fieldPath=".version"
// +kubebuilder:validation:XValidation:rule="!has(self.version) || !has(self.type) || self.type != 'Reboot'",message="must be absent where type is Reboot",fieldPath=".version"
// +kubebuilder:validation:XValidation:rule="has(self.version) == has(oldSelf.version) && (!has(self.version) || self.version == oldSelf.version)",message="cannot be changed, as its images are fixed at the trigger; create another ClusterUpgrade",fieldPath=".version"
// +kubebuilder:validation:XValidation:rule="has(self.type) == has(oldSelf.type) && (!has(self.type) || self.type == oldSelf.type)",message="cannot be changed; create another ClusterUpgrade",fieldPath=".type"
// +kubebuilder:validation:XValidation:rule="has(self.nodeSelector) == has(oldSelf.nodeSelector) && (!has(self.nodeSelector) || self.nodeSelector == oldSelf.nodeSelector)",message="cannot be changed; create another ClusterUpgrade",fieldPath=".nodeSelector"
// +kubebuilder:validation:XValidation:rule="has(self.retryOf) == has(oldSelf.retryOf) && (!has(self.retryOf) || self.retryOf == oldSelf.retryOf)",message="cannot be changed; create another ClusterUpgrade",fieldPath=".retryOf"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type == 'Patch' || !has(self.strategy) || !has(self.strategy.method) || self.strategy.method != 'Restart'",message="Restart is for patches; use Reboot",fieldPath=".strategy.method"
type ClusterUpgradeSpec struct {
	// Type is derived from version where it is absent; where it is given it
	// must agree. Reboot needs no version.
	// +optional
	Type UpgradeType `json:"type,omitempty"`

	// Version of Kubernetes to reach, such as v1.34.4.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^v1[.](0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})(-[0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?([+][0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?$')",message="must be a version of Kubernetes in full, such as v1.34.4"
	// +optional
	Version string `json:"version,omitempty"`

	// NodeSelector limits the upgrade to the nodes it matches. Absent: every
	// managed node.
	// +optional
	NodeSelector *LabelSelector `json:"nodeSelector,omitempty"`

	// StartTime is the first instant at which a node may begin. Images are
	// staged before. Until then the upgrade holds up no other.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// Suspend stops before the next node; nodes past their last check finish.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Approved says what a person lets begin, where the strategy asks for an
	// approval.
	// +optional
	Approved Approved `json:"approved,omitzero"`

	// IgnoreWindows lets nodes begin outside maintenance windows. Exclusions always
	// count.
	// +optional
	IgnoreWindows bool `json:"ignoreWindows,omitempty"`

	// IgnoreChecks are preflight findings that shall not block.
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=32
	// +optional
	IgnoreChecks []IgnoredCheck `json:"ignoreChecks,omitempty"`

	// RetryOf is the name of a failed ClusterUpgrade whose place this one takes:
	// that one ends, and nodes that failed in it begin anew.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	RetryOf string `json:"retryOf,omitempty"`

	// Strategy is how nodes are taken. What it leaves out is the UpgradePolicy's.
	// +optional
	Strategy Strategy `json:"strategy,omitzero"`
}

// Approved says what a person lets begin.
type Approved struct {
	// Upgrade lets the upgrade begin.
	// +optional
	Upgrade bool `json:"upgrade,omitempty"`
	// Groups are the strategy's groups that may begin.
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	// +optional
	Groups []string `json:"groups,omitempty"`
}

// IgnoredCheck is a preflight check that shall not block.
type IgnoredCheck struct {
	// ID of the check, as findings show it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`
	// Reason why it may be ignored, for people who read the record.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Reason string `json:"reason,omitempty"`
}

// Ignores reports whether a check's findings shall not block.
func (s ClusterUpgradeSpec) Ignores(id string) bool {
	for _, check := range s.IgnoreChecks {
		if check.ID == id {
			return true
		}
	}
	return false
}

// Reference returns the name and UID by which nodes and records know the upgrade.
func (u *ClusterUpgrade) Reference() UpgradeReference {
	return UpgradeReference{Name: u.Name, UID: string(u.UID)}
}

// ClusterUpgradeList is a list of upgrades.
// +kubebuilder:object:root=true
type ClusterUpgradeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterUpgrade `json:"items"`
}
