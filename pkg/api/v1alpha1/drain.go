package v1alpha1

// Drain is how pods are evicted from a node.
type Drain struct {
	// TimeoutSeconds limits the drain of one node. A strategy's default: 900.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// OnTimeout is Abort (uncordon, free the slot, retry later) or Delete (delete the
	// pods that are left, also those that were waited for). A strategy's default: Abort.
	// +optional
	OnTimeout OnTimeout `json:"onTimeout,omitempty"`

	// VolumesDetachedSeconds is how long a node waits, after its pods have gone, until their
	// CSI volumes are detached: a volume that is still attached when the node reboots may not
	// be unmounted cleanly, and its pod cannot start elsewhere. Then onTimeout applies.
	// Volumes of pods that stay on the node are not waited for. A strategy's default: 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	VolumesDetachedSeconds *int32 `json:"volumesDetachedSeconds,omitempty"`

	// GracePeriodSeconds overrides the termination grace period of pods. -1: each pod's
	// own. 0: they are killed immediately. A strategy's default: -1.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	GracePeriodSeconds *int32 `json:"gracePeriodSeconds,omitempty"`

	// UnmanagedPods is Block or Evict, for pods without a controller that would start
	// them again elsewhere. A strategy's default: Block.
	// +optional
	UnmanagedPods PodHandling `json:"unmanagedPods,omitempty"`

	// EmptyDirPods is Evict or Block, for pods with a volume of type emptyDir, whose
	// data is lost with the pod. A strategy's default: Evict.
	// +optional
	EmptyDirPods PodHandling `json:"emptyDirPods,omitempty"`

	// DoNotDisruptSeconds is how long a drain waits for pods to end by themselves that
	// have the annotation cluster-autoscaler.kubernetes.io/safe-to-evict: "false" or
	// karpenter.sh/do-not-disrupt: "true", but for half of timeoutSeconds at most. Then
	// they are evicted like others. A rule that selects such a pod applies instead. A
	// strategy's default: 300.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	DoNotDisruptSeconds *int32 `json:"doNotDisruptSeconds,omitempty"`

	// Rules set how the drain treats the pods that they select. The first matching rule
	// applies; a pod without one is evicted.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Rules []DrainRule `json:"rules,omitempty"`
}

// OnTimeout is what happens to a drain that takes too long.
// +kubebuilder:validation:Enum=Abort;Delete
type OnTimeout string

// What happens to a drain that takes too long.
const (
	OnTimeoutAbort  OnTimeout = "Abort"  // uncordon, free the slot, retry later
	OnTimeoutDelete OnTimeout = "Delete" // delete the pods that are left
)

// PodHandling is what a drain does with pods of a kind.
// +kubebuilder:validation:Enum=Block;Evict
type PodHandling string

// What a drain does with pods of a kind.
const (
	PodsBlock PodHandling = "Block" // such a pod blocks the drain
	PodsEvict PodHandling = "Evict" // it is evicted like any other
)

// DrainRule sets how a drain treats the pods that it selects.
type DrainRule struct {
	// Name identifies this rule in the list.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// PodSelector chooses pods by their labels.
	// +required
	PodSelector LabelSelector `json:"podSelector"`
	// Namespaces limits the rule to their pods. Absent: all.
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`
	// Behavior is Drain (evict them like others), Skip (leave them on the node) or
	// WaitCompleted (wait until they have ended by themselves).
	// +required
	Behavior DrainBehavior `json:"behavior"`
}

// DrainBehavior is what a drain does with a pod.
// +kubebuilder:validation:Enum=Drain;Skip;WaitCompleted
type DrainBehavior string

// What a drain does with a pod, with the terms of Cluster API's MachineDrainRule.
const (
	DrainPod           DrainBehavior = "Drain"         // evict it
	DrainSkip          DrainBehavior = "Skip"          // leave it on the node
	DrainWaitCompleted DrainBehavior = "WaitCompleted" // wait until it has ended by itself
)
