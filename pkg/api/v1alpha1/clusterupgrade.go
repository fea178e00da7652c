package v1alpha1

import (
	"encoding/json"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterUpgrade requests an upgrade of the cluster, and shows its state. One is active
// at a time; the others wait in a queue. UpgradeRecords keep the result of each node of
// an ended upgrade.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=kucu,categories=kubeupgrade
// +kubebuilder:subresource:status
// +kubebuilder:selectablefield:JSONPath=`.spec.version`
// +kubebuilder:selectablefield:JSONPath=`.status.outcome`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.status.type`
// +kubebuilder:printcolumn:name="From",type=string,JSONPath=`.status.fromVersion`
// +kubebuilder:printcolumn:name="To",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Done",type=string,JSONPath=`.status.progress`
// +kubebuilder:printcolumn:name="Outcome",type=string,JSONPath=`.status.outcome`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Triggered",type=date,priority=1,JSONPath=`.status.triggerTime`
// +kubebuilder:printcolumn:name="Ended",type=date,priority=1,JSONPath=`.status.endTime`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Succeeded")].message`
type ClusterUpgrade struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the requested upgrade.
	// +required
	Spec ClusterUpgradeSpec `json:"spec"`
	// Status is the state of the upgrade. The coordinator writes it.
	// +default={"observedGeneration":-1}
	// +optional
	Status ClusterUpgradeStatus `json:"status,omitzero"`
}

// ClusterUpgradeSpec is what a person, Git or the coordinator requests.
//
// +kubebuilder:validation:XValidation:rule="has(self.version) || (has(self.type) && self.type in ['Reboot', 'Certificates'])",message="is needed, such as v1.34.4, unless type is Reboot or Certificates",fieldPath=".version"
// +kubebuilder:validation:XValidation:rule="!has(self.version) || !has(self.type) || !(self.type in ['Reboot', 'Certificates'])",message="must be absent where type is Reboot or Certificates",fieldPath=".version"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'Rollback' || (has(self.comment) && self.comment.trim().size() > 0)",message="is needed where type is Rollback",fieldPath=".comment"
// +kubebuilder:validation:XValidation:rule="has(self.version) == has(oldSelf.version) && (!has(self.version) || self.version == oldSelf.version)",message="cannot be changed, as its images are fixed at the trigger; create another ClusterUpgrade",fieldPath=".version"
// +kubebuilder:validation:XValidation:rule="has(self.type) == has(oldSelf.type) && (!has(self.type) || self.type == oldSelf.type)",message="cannot be changed; create another ClusterUpgrade",fieldPath=".type"
// +kubebuilder:validation:XValidation:rule="has(self.nodeSelector) == has(oldSelf.nodeSelector) && (!has(self.nodeSelector) || self.nodeSelector == oldSelf.nodeSelector)",message="cannot be changed; create another ClusterUpgrade",fieldPath=".nodeSelector"
// +kubebuilder:validation:XValidation:rule="has(self.retryOf) == has(oldSelf.retryOf) && (!has(self.retryOf) || self.retryOf == oldSelf.retryOf)",message="cannot be changed; create another ClusterUpgrade",fieldPath=".retryOf"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type == 'Patch' || !has(self.strategy) || !has(self.strategy.method) || self.strategy.method != 'Restart'",message="Restart is for patches; use Reboot",fieldPath=".strategy.method"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'Reboot' || !has(self.strategy) || !has(self.strategy.method) || self.strategy.method != 'SoftReboot'",message="SoftReboot keeps the kernel that runs, and an upgrade of type Reboot is there to replace it; use Reboot",fieldPath=".strategy.method"
// +kubebuilder:validation:XValidation:rule="!has(self.rebootPolicy) || (has(self.type) && self.type == 'Reboot')",message="is for type Reboot only",fieldPath=".rebootPolicy"
// +kubebuilder:validation:XValidation:rule="has(self.rebootPolicy) == has(oldSelf.rebootPolicy) && (!has(self.rebootPolicy) || self.rebootPolicy == oldSelf.rebootPolicy)",message="cannot be changed, as the boots that it ends are fixed at the trigger; create another ClusterUpgrade",fieldPath=".rebootPolicy"
type ClusterUpgradeSpec struct {
	// Type is derived from version if it is absent; otherwise it must match. Reboot and
	// Certificates need no version. Certificates has kubeadm renew what it has issued on control
	// planes, and restarts the programs that do not load the new certificates by themselves. Rollback returns the kubelets of nodes that run a newer patch of the
	// same minor to version, and blocks what they ran (the UpgradePolicy's status.takenBack);
	// nodes that nodeSelector selects for it get the label kubectl-upgrade.dev/hold.
	// +optional
	Type UpgradeType `json:"type,omitempty"`

	// Comment is why it was requested, for people who read the record.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Comment string `json:"comment,omitempty"`

	// Version of Kubernetes to reach, such as v1.34.4.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^v1[.](0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})(-[0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?([+][0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?$')",message="must be a version of Kubernetes in full, such as v1.34.4"
	// +optional
	Version string `json:"version,omitempty"`

	// NodeSelector limits the upgrade to the nodes it matches. Absent: every
	// managed node.
	// +optional
	NodeSelector *LabelSelector `json:"nodeSelector,omitempty"`

	// RebootPolicy is IfRequired, the default, if a Reboot is for nodes whose operating system asks
	// for it; Always if it is for each selected node that has not booted since the trigger.
	// +optional
	RebootPolicy RebootPolicy `json:"rebootPolicy,omitempty"`

	// StartTime is the first instant at which a node may begin. Images are staged
	// before. Until then other upgrades may go first.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// Suspend pauses the upgrade: no other node begins, and a node that has not passed its
	// last check aborts its attempt and is uncordoned. Nodes past their last check finish.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Approved is what a person has approved, if the strategy requires approval. Approving needs the
	// verb approve on clusterupgrades.
	// +optional
	Approved Approved `json:"approved,omitzero"`

	// WindowPolicy is Ignore if nodes may begin outside maintenance windows. Exclusions always
	// count. Ignore needs the verb ignore-windows on clusterupgrades.
	// +optional
	WindowPolicy WindowPolicy `json:"windowPolicy,omitempty"`

	// IgnoreChecks are the preflight checks whose findings must not block. Adding one needs the verb
	// ignore-checks on clusterupgrades.
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=32
	// +optional
	IgnoreChecks []IgnoredCheck `json:"ignoreChecks,omitempty"`

	// IgnoreGates are the gates of the UpgradePolicy that the upgrade does not ask. Setting it
	// needs the verb ignore-gates on clusterupgrades, as strategy.groups[].ignoreGates does.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +optional
	IgnoreGates []IgnoredGate `json:"ignoreGates,omitempty"`

	// RetryOf is a failed ClusterUpgrade that this one replaces: that one ends, and nodes that
	// failed in it start again.
	// +optional
	RetryOf *RetriedUpgrade `json:"retryOf,omitempty"`

	// Strategy is how nodes are upgraded. Fields that it leaves out are taken from the
	// UpgradePolicy.
	// +optional
	Strategy Strategy `json:"strategy,omitzero"`
}

// WindowPolicy says if nodes wait for maintenance windows.
// +kubebuilder:validation:Enum=Respect;Ignore
type WindowPolicy string

// The policies. Absent means Respect.
const (
	WindowPolicyRespect WindowPolicy = "Respect"
	WindowPolicyIgnore  WindowPolicy = "Ignore"
)

// RebootPolicy says which nodes a Reboot reboots.
// +kubebuilder:validation:Enum=IfRequired;Always
type RebootPolicy string

// The policies. Absent means IfRequired.
const (
	RebootIfRequired RebootPolicy = "IfRequired"
	RebootAlways     RebootPolicy = "Always"
)

// RetriedUpgrade names the ClusterUpgrade that another one retries.
type RetriedUpgrade struct {
	// Name of the ClusterUpgrade.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// UID of the ClusterUpgrade. Absent, as in Git: whichever has the name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	UID string `json:"uid,omitempty"`
}

// UnmarshalJSON also reads a text: the name, as the first version stored it.
func (r *RetriedUpgrade) UnmarshalJSON(data []byte) error {
	if name := ""; json.Unmarshal(data, &name) == nil {
		*r = RetriedUpgrade{Name: name}
		return nil
	}
	type retried RetriedUpgrade // without this method
	return json.Unmarshal(data, (*retried)(r))
}

// Retry returns the reference with which another upgrade retries this one.
func (u *ClusterUpgrade) Retry() *RetriedUpgrade {
	return &RetriedUpgrade{Name: u.Name, UID: string(u.UID)}
}

// Retries reports whether the upgrade retries the other one.
func (s ClusterUpgradeSpec) Retries(other *ClusterUpgrade) bool {
	return s.RetryOf != nil && s.RetryOf.Name == other.Name && (s.RetryOf.UID == "" || s.RetryOf.UID == string(other.UID))
}

// IgnoresWindows reports whether nodes may begin outside maintenance windows.
func (s ClusterUpgradeSpec) IgnoresWindows() bool { return s.WindowPolicy == WindowPolicyIgnore }

// AlwaysReboots reports whether nodes are rebooted whether they ask for it or not.
func (s ClusterUpgradeSpec) AlwaysReboots() bool { return s.RebootPolicy == RebootAlways }

// Approved is what a person has approved.
type Approved struct {
	// Upgrade approves the whole upgrade.
	// +optional
	Upgrade bool `json:"upgrade,omitempty"`
	// Groups are the approved groups of the strategy.
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +optional
	Groups []string `json:"groups,omitempty"`
	// By is the user who approved last, as the API server knows them. An admission policy
	// rejects any other name. Absent: the approval came from elsewhere, such as Git.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	By string `json:"by,omitempty"`
}

// IgnoredCheck is a preflight check whose findings must not block.
type IgnoredCheck struct {
	// ID of the check, as findings show it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	ID string `json:"id"`
	// Comment is why it is ignored, for people who read the record.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Comment string `json:"comment"`
	// By is the user who lets it be ignored, as the API server knows them. An admission
	// policy rejects any other name. Absent: it came from elsewhere, such as Git.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	By string `json:"by,omitempty"`
}

// Ignores reports whether the upgrade ignores a check's findings.
func (s ClusterUpgradeSpec) Ignores(id string) bool {
	for _, check := range s.IgnoreChecks {
		if check.ID == id {
			return true
		}
	}
	return false
}

// Changed returns whether the spec was changed after the upgrade was created, and the user
// who changed it last. Empty: that is not known, as that change did not record its user.
func (u *ClusterUpgrade) Changed() (changed bool, by string) {
	if u.Generation <= 1 {
		return false, ""
	}
	if u.Annotations[ChangedGenerationAnnotation] == strconv.FormatInt(u.Generation, 10) {
		by = u.Annotations[ChangedByAnnotation]
	}
	return true, by
}

// Reference returns the reference by which nodes and records name the upgrade.
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
