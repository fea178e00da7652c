package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Method is how a staged image becomes the running one.
// +kubebuilder:validation:Enum=Reboot;Restart
type Method string

// The methods.
const (
	MethodReboot  Method = "Reboot"  // drain and reboot
	MethodRestart Method = "Restart" // refresh the merged image and restart the kubelet; patches only
)

// Strategy is how nodes are taken.
type Strategy struct {
	// Method is Reboot, or for patches Restart.
	// +kubebuilder:default=Reboot
	// +optional
	Method Method `json:"method,omitempty"`

	// MaxUnavailable is how many nodes may be out of service at once, as a
	// number or a percentage of all nodes (rounded down, never below one).
	// Control-plane nodes go one at a time whatever it says.
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="must be a number from 1, or a percentage from 1% to 100%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// Groups are taken in this order, after the control plane. Nodes of no
	// group come last.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Groups []NodeGroup `json:"groups,omitempty"`

	// Settle is the quiet time after a node is Ready again and before it is
	// uncordoned.
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must be a duration from 0s, such as 2m or 1h30m"
	// +optional
	Settle *metav1.Duration `json:"settle,omitempty"`

	// Drain is how pods are asked to leave.
	// +kubebuilder:default={}
	// +optional
	Drain Drain `json:"drain,omitzero"`

	// EtcdSnapshot is Required, or Skip.
	// +kubebuilder:validation:Enum=Required;Skip
	// +kubebuilder:default=Required
	// +optional
	EtcdSnapshot string `json:"etcdSnapshot,omitempty"`
}

// Whether a snapshot of etcd is taken before kubeadm runs.
const (
	EtcdSnapshotRequired = "Required"
	EtcdSnapshotSkip     = "Skip"
)

// NodeGroup is a set of nodes with a budget of its own.
type NodeGroup struct {
	// Name of the group.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be of lower-case letters, digits and '-', and begin and end with a letter or digit"
	Name string `json:"name"`
	// NodeSelector says which nodes belong to it. A node belongs to the first
	// group that matches.
	NodeSelector NodeSelector `json:"nodeSelector"`
	// MaxUnavailable of this group, within the strategy's own.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="must be a number from 1, or a percentage from 1% to 100%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// NodeSelector chooses nodes by their labels. It is a metav1.LabelSelector with
// limits, without which the API server will not check it in a list.
type NodeSelector struct {
	// MatchLabels are labels that a node must have, all of them.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	// MatchExpressions are requirements that a node must meet, all of them.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && size(e.values) > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || size(e.values) == 0))",message="an operator is In or NotIn with values, or Exists or DoesNotExist without"
	// +listType=atomic
	// +optional
	MatchExpressions []metav1.LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// AsSelector is what matches the labels. The error names a key, value or
// operator that Kubernetes does not know.
func (s NodeSelector) AsSelector() (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector((*metav1.LabelSelector)(&s))
}

// OnTimeout says what happens to a drain that takes too long.
type OnTimeout string

// What happens to a drain that takes too long.
const (
	OnTimeoutAbort OnTimeout = "Abort" // uncordon, free the slot, try again later
	OnTimeoutForce OnTimeout = "Force" // delete the pods that are left
)

// Drain is how pods are asked to leave a node.
type Drain struct {
	// Timeout limits the drain of one node.
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="must be a duration longer than 0s, such as 15m: a drain without a limit would hold its slot for ever"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// OnTimeout is Abort (uncordon, free the slot, try again later) or Force
	// (delete the pods that are left).
	// +kubebuilder:validation:Enum=Abort;Force
	// +kubebuilder:default=Abort
	// +optional
	OnTimeout OnTimeout `json:"onTimeout,omitempty"`

	// GracePeriodSeconds overrides the time that pods are given to end. -1:
	// each pod's own. 0: they are killed at once.
	// +kubebuilder:default=-1
	// +kubebuilder:validation:Minimum=-1
	// +optional
	GracePeriodSeconds *int32 `json:"gracePeriodSeconds,omitempty"`

	// Force evicts pods that no controller will start again elsewhere. Without
	// it such a pod blocks the drain.
	// +optional
	Force bool `json:"force,omitempty"`
}
