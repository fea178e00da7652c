package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// Method is how a staged image becomes the running one.
// +kubebuilder:validation:Enum=Reboot;SoftReboot;Restart
type Method string

// The methods.
const (
	MethodReboot     Method = "Reboot"     // drain and reboot
	MethodSoftReboot Method = "SoftReboot" // drain, and have systemd start everything again but the kernel
	MethodRestart    Method = "Restart"    // refresh the merged image and restart the kubelet; patches only
)

// MaxGuardSeconds is the longest that Pace.GuardSeconds may be.
const MaxGuardSeconds = 1800

// Methods are all methods, the most thorough one first.
var Methods = []Method{MethodReboot, MethodSoftReboot, MethodRestart}

// Strategy is how nodes are upgraded: how many at once, in what order, and at what
// pace. A field that a ClusterUpgrade leaves out is taken from the UpgradePolicy, and
// one that both leave out from the defaults given here. The ClusterUpgrade's status
// shows the result.
type Strategy struct {
	// Method is Reboot; SoftReboot: the node is drained, and systemd starts everything
	// again but kernel and firmware; or for patches Restart: the kubelet is restarted, and
	// no pod is evicted. A node that cannot do so reboots. Default: Reboot.
	// +optional
	Method Method `json:"method,omitempty"`

	// MaxUnavailable is how many nodes may be out of service at once, as a number or as
	// a percentage of the nodes that the upgrade concerns: those that are managed and
	// that spec.nodeSelector matches. A percentage is rounded down, to at least one.
	// Control-plane nodes are always upgraded one at a time. Default: 1.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern="^([1-9][0-9]?|100)%$"
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 1",message="must be a number from 1, or a percentage from 1% to 100%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// CordonedNodes is Count or Ignore, for nodes of the upgrade that another client has
	// cordoned: they count as out of service, or as in service. Default: Ignore.
	// +optional
	CordonedNodes CordonedNodes `json:"cordonedNodes,omitempty"`

	// MaxFailures is how many workers may fail before no other node begins. A
	// control-plane node that fails always stops the others. Default: 0.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxFailures *int32 `json:"maxFailures,omitempty"`

	// Approval is Required if the upgrade must not begin before spec.approved.upgrade
	// is true. A ClusterUpgrade cannot lower what the UpgradePolicy requires. Default: NotRequired.
	// +optional
	Approval Approval `json:"approval,omitempty"`

	// Groups are upgraded in this order, after the control plane. Nodes without a group
	// come last. At most 30.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=30
	// +optional
	Groups []NodeGroup `json:"groups,omitempty"`

	Pace `json:",inline"`

	// EtcdSnapshotPolicy is Required, to take and verify a snapshot of etcd before kubeadm
	// runs, or Skip. Default: Required.
	// +optional
	EtcdSnapshotPolicy EtcdSnapshotPolicy `json:"etcdSnapshotPolicy,omitempty"`
}

// Pace is how fast nodes are upgraded. A group may have its own.
type Pace struct {
	// SettleSeconds is how long a node must stay Ready before it is uncordoned. A
	// strategy's default: 20.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	SettleSeconds *int32 `json:"settleSeconds,omitempty"`

	// MinReadySeconds is how long a node must be Ready after it was uncordoned, with
	// its slot still held and the guard on watch, before the next node begins. A
	// strategy's default: 100.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`

	// GuardSeconds is how long a node may take to become healthy after its image was
	// activated, from the kubelet's first start with it. Then the guard on the node returns
	// it to its former version. A strategy's default: 180.
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=1800
	// +optional
	GuardSeconds *int32 `json:"guardSeconds,omitempty"`

	// Whole is what a node must have again to be back.
	// +optional
	Whole Whole `json:"whole,omitzero"`

	// Drain is how pods are evicted.
	// +optional
	Drain Drain `json:"drain,omitzero"`
}

// EtcdSnapshotPolicy says whether a snapshot of etcd is taken before kubeadm runs.
// +kubebuilder:validation:Enum=Required;Skip
type EtcdSnapshotPolicy string

// Whether a snapshot of etcd is taken before kubeadm runs.
const (
	EtcdSnapshotRequired EtcdSnapshotPolicy = "Required"
	EtcdSnapshotSkip     EtcdSnapshotPolicy = "Skip"
)

// CordonedNodes says whether nodes that another client has cordoned count as out of service.
// +kubebuilder:validation:Enum=Count;Ignore
type CordonedNodes string

// Whether nodes that another client has cordoned count as out of service.
const (
	CordonedCount  CordonedNodes = "Count"
	CordonedIgnore CordonedNodes = "Ignore"
)

// Approval says whether a person has to approve something.
// +kubebuilder:validation:Enum=NotRequired;Required
type Approval string

// Whether a person has to approve something.
const (
	ApprovalNotRequired Approval = "NotRequired"
	ApprovalRequired    Approval = "Required"
)

// NodeGroup is a set of nodes with its own limit and pace.
type NodeGroup struct {
	// Name of the group.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be of lower-case letters, digits and '-', and begin and end with a letter or digit"
	// +kubebuilder:validation:XValidation:rule="self != 'control-plane'",message="control-plane is the group of the control-plane nodes, which always go first"
	// +required
	Name string `json:"name"`
	// NodeSelector selects the nodes of the group. A node belongs to the first group
	// that matches.
	// +required
	NodeSelector LabelSelector `json:"nodeSelector"`
	// MaxUnavailable of this group, within the strategy's own: a number, or a
	// percentage of the group's nodes that the upgrade concerns.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern="^([1-9][0-9]?|100)%$"
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 1",message="must be a number from 1, or a percentage from 1% to 100%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// Approval is Required if no node of the group may begin before
	// spec.approved.groups names it. Default: NotRequired.
	// +optional
	Approval Approval `json:"approval,omitempty"`
	// IgnoreGates are the names of the UpgradePolicy's gates that nodes of the group do not wait for.
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +optional
	IgnoreGates []string `json:"ignoreGates,omitempty"`

	Pace `json:",inline"`
}
