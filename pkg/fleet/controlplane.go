package fleet

// StaticPod is an apiserver or an etcd member that kubeadm put on a node.
type StaticPod struct {
	Node string `json:"node"`
	// Version is the tag of its image. Empty where that is not a version.
	Version string `json:"version,omitempty"`
	Ready   bool   `json:"ready,omitempty"`
}
