package fleet

import "time"

// Node is what counts of a Node object.
type Node struct {
	Name   string            `json:"name"`
	UID    string            `json:"uid"`
	Labels map[string]string `json:"labels,omitempty"`
	// ControlPlane reports whether it bears kubeadm's label for that.
	ControlPlane bool `json:"controlPlane,omitempty"`
	// OS is "linux" or another one, which is never upgraded.
	OS string `json:"os,omitempty"`
	// Architecture as Kubernetes names it: amd64 or arm64.
	Architecture string `json:"architecture,omitempty"`
	Ready        bool   `json:"ready,omitempty"`
	// NotReadySince is when it ceased to be Ready. Nil: it is, or that is not known.
	NotReadySince *time.Time `json:"notReadySince,omitempty"`
	// Kubelet is the version that runs, such as v1.34.3.
	Kubelet string `json:"kubelet,omitempty"`
	// BootID of the running system, as the kubelet reported it.
	BootID string `json:"bootID,omitempty"`
	// Cordoned reports whether it bears a cordon that is not ours. It goes like any
	// other, and that cordon stays.
	Cordoned bool `json:"cordoned,omitempty"`
	// Slot is the name of the slot that the Node is marked with while it is out of
	// service by our doing. Its kubelet writes it, and may write anything.
	Slot string `json:"slot,omitempty"`
}

// Owner returns the node as slots name it.
func (n Node) Owner() Owner { return Owner{Node: n.Name, UID: n.UID} }
