package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// NodeUpgrade is one node's order and progress. It is named like the node and
// owned by it. The coordinator writes spec and the condition Admitted, and that
// node's agent writes the rest of status.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=kunu,categories=kubeupgrade
// +kubebuilder:subresource:status
// +kubebuilder:selectablefield:JSONPath=`.spec.version`
// +kubebuilder:selectablefield:JSONPath=`.status.step`
// +kubebuilder:printcolumn:name="Kubelet",type=string,JSONPath=`.status.versions.kubelet`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Step",type=string,JSONPath=`.status.step`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="UpToDate")].reason`
// +kubebuilder:printcolumn:name="Admission",type=string,JSONPath=`.status.conditions[?(@.type=="Admitted")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Since",type=date,priority=1,JSONPath=`.status.stepStartTime`
// +kubebuilder:printcolumn:name="Staged",type=string,priority=1,JSONPath=`.status.versions.staged`
// +kubebuilder:printcolumn:name="Release",type=string,priority=1,JSONPath=`.spec.release`
// +kubebuilder:printcolumn:name="Slot",type=string,priority=1,JSONPath=`.status.slot`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="UpToDate")].message`
// +kubebuilder:printcolumn:name="Admission message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Admitted")].message`
type NodeUpgrade struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the order. Only the coordinator writes it: what it names runs as root
	// on the node.
	// +optional
	Spec NodeUpgradeSpec `json:"spec,omitzero"`

	// A person sets Abandoned to declare that the node will not come back: its slot is
	// freed, and upgrades go on without it. The coordinator removes it when the node's
	// agent reports again.
	// +optional
	Abandoned *Abandoned `json:"abandoned,omitempty"`

	// Status is what the node's agent observes and does, and why the node may not
	// begin.
	// +default={"observedGeneration":-1}
	// +optional
	Status NodeUpgradeStatus `json:"status,omitzero"`
}

// Release is how far a node may go.
// +kubebuilder:validation:Enum=None;KubeadmAhead;ControlPlane;Node
type Release string

// The releases.
const (
	ReleaseNone         Release = "None"         // stage, and wait
	ReleaseKubeadmAhead Release = "KubeadmAhead" // a worker that goes next: kubeadm, without a slot
	ReleaseControlPlane Release = "ControlPlane" // pass 1: kubeadm on a control-plane node
	ReleaseNode         Release = "Node"         // pass 2: the kubelet, with drain and reboot
)

// Granted reports whether the release allows the node to begin: to take its slot.
func (r Release) Granted() bool { return r == ReleaseControlPlane || r == ReleaseNode }

// KubeadmCommand is which kubeadm upgrade a node runs.
// +kubebuilder:validation:Enum=Apply;Node
type KubeadmCommand string

// The kubeadm commands.
const (
	KubeadmApply KubeadmCommand = "Apply" // kubeadm upgrade apply: the first control-plane node
	KubeadmNode  KubeadmCommand = "Node"  // kubeadm upgrade node: every other node
)

// NodeUpgradeSpec is the order that a node has. It is complete: nothing in it is
// filled in by a default.
//
// +kubebuilder:validation:XValidation:rule="!has(self.release) || self.release == 'None' || has(self.upgrade)",message="a release needs the upgrade it is for",fieldPath=".upgrade"
// +kubebuilder:validation:XValidation:rule="!has(self.release) || self.release == 'None' || (has(self.type) && self.type in ['Reboot', 'Certificates']) || has(self.version)",message="a release needs the version to reach, unless type is Reboot or Certificates",fieldPath=".version"
// +kubebuilder:validation:XValidation:rule="!has(self.release) || self.release == 'None' || (has(self.type) && self.type in ['Reboot', 'Certificates']) || has(self.image)",message="a release needs the image whose digest was fixed, unless type is Reboot or Certificates",fieldPath=".image"
type NodeUpgradeSpec struct {
	// Managed allows the node's agent to change the node. Without it, the agent only
	// reads; if kubectl-upgrade has changed something on the node before, the agent first
	// finishes or aborts the attempt that the node is in, and then undoes the change. The
	// condition Managed says when nothing is left.
	// +optional
	Managed bool `json:"managed,omitempty"`

	// Upgrade is the ClusterUpgrade that this order is part of. Absent: there is none.
	// +optional
	Upgrade *UpgradeReference `json:"upgrade,omitempty"`

	// Type of that upgrade for this node: a node that joins late may be a minor behind,
	// while the others need only a patch.
	// +optional
	Type UpgradeType `json:"type,omitempty"`

	// Version to reach, such as v1.34.4.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^v1[.](0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})(-[0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?([+][0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?$')",message="must be a version of Kubernetes in full, such as v1.34.4"
	// +optional
	Version string `json:"version,omitempty"`

	// Image to stage: its address, and the digest fixed at the trigger.
	// +optional
	Image *Image `json:"image,omitempty"`

	// Release is how far the node may go: None (stage, and wait), KubeadmAhead (kubeadm
	// on a worker that goes next, which takes no node out of service and needs no slot),
	// ControlPlane (kubeadm on a control-plane node) or Node (drain, and activate the
	// image).
	// Absent means None.
	// +optional
	Release Release `json:"release,omitempty"`

	// Slot is the name of the slot that was reserved for the node with its release.
	// It stays until the node is back in service: a Lease that is deleted meanwhile
	// is rebuilt from it.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Slot string `json:"slot,omitempty"`

	// Kubeadm is which kubeadm upgrade this node runs: Apply on the first
	// control-plane node, Node on every other node.
	// +optional
	Kubeadm KubeadmCommand `json:"kubeadm,omitempty"`

	// EtcdSnapshotPolicy is Required if this node takes a snapshot of etcd before kubeadm runs.
	// +optional
	EtcdSnapshotPolicy EtcdSnapshotPolicy `json:"etcdSnapshotPolicy,omitempty"`

	// HoldAfter has the node put on hold when it is back in service, before it is uncordoned: it
	// was taken back alone.
	// +optional
	HoldAfter bool `json:"holdAfter,omitempty"`

	// FromBootID is the boot that a Reboot ends, whether the operating system asks for it or
	// not: the node's in status.boots of the ClusterUpgrade. In another boot, nothing is left to do.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	FromBootID string `json:"fromBootID,omitempty"`

	// Method is how the image is activated: Reboot, SoftReboot or Restart.
	// +optional
	Method Method `json:"method,omitempty"`

	Pace `json:",inline"`

	// ExpectedSeconds is how long the coordinator expects the released work to take.
	// The agent does not begin if less time is left before its window closes or an
	// exclusion starts. Absent: not known.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ExpectedSeconds *int32 `json:"expectedSeconds,omitempty"`
}

// Abandoned is a person's declaration that the node will not come back.
type Abandoned struct {
	// Comment is why, as the person wrote it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Comment string `json:"comment"`
	// Time of the declaration.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// By is the user who abandoned the node, as the API server knows the name. An
	// admission policy rejects any other name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	By string `json:"by,omitempty"`
}

// String returns the comment and, if known, the user.
func (a Abandoned) String() string {
	if a.By == "" {
		return a.Comment
	}
	return a.Comment + " (" + a.By + ")"
}

// RequestedFor reports whether Cluster API asks for the node in the upgrade of that UID.
func (n *NodeUpgrade) RequestedFor(upgrade types.UID) bool {
	return upgrade != "" && n.Annotations[RequestedForAnnotation] == string(upgrade)
}

// NodeUpgradeList is a list of NodeUpgrades.
// +kubebuilder:object:root=true
type NodeUpgradeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeUpgrade `json:"items"`
}
