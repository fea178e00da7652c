package fleet

import "time"

// Node is the part of a Node object that the planner uses.
type Node struct {
	Name   string            `json:"name"`
	UID    string            `json:"uid"`
	Labels map[string]string `json:"labels,omitempty"`
	// ControlPlane reports whether it has kubeadm's label of control planes.
	ControlPlane bool `json:"controlPlane,omitempty"`
	// OS is "linux", or another one, whose nodes are never upgraded.
	OS string `json:"os,omitempty"`
	// Architecture as Kubernetes names it: amd64 or arm64.
	Architecture string `json:"architecture,omitempty"`
	Ready        bool   `json:"ready,omitempty"`
	// NotReadySince is when it stopped being Ready. Nil: it is Ready, or that is not
	// known.
	NotReadySince *time.Time `json:"notReadySince,omitempty"`
	// AgentProblem is why no agent runs on the node, such as "ImagePullBackOff", and
	// AgentProblemSince since when. Empty: one does, or that is not known.
	AgentProblem      string     `json:"agentProblem,omitempty"`
	AgentProblemSince *time.Time `json:"agentProblemSince,omitempty"`
	// Kubelet is the version that runs, such as v1.34.3.
	Kubelet string `json:"kubelet,omitempty"`
	// BootID of the running system, as the kubelet reported it.
	BootID string `json:"bootID,omitempty"`
	// Cordoned reports whether another client cordoned it. It is upgraded like any
	// other, and that cordon stays.
	Cordoned bool `json:"cordoned,omitempty"`
	// SlotAnnotation is the slot in the Node's annotation while an upgrade keeps it out of
	// service. Its kubelet may write any value.
	SlotAnnotation string `json:"slot,omitempty"`
}

// Owner returns the node as an owner of slots.
func (n Node) Owner() Owner { return Owner{Node: n.Name, UID: n.UID} }
