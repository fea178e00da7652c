package fleet

// StaticPod is a pod of the control plane that kubeadm runs on a node.
type StaticPod struct {
	Node string `json:"node"`
	// Version is the tag of its image; empty if that is not a version.
	Version string `json:"version,omitempty"`
	Ready   bool   `json:"ready,omitempty"`
}
