package v1alpha1

// Whole says what a node must have again to be back, of what it had before it went out of service. What was removed
// from the cluster or from the node meanwhile is not waited for.
type Whole struct {
	// TimeoutSeconds is how long a node waits for all of it: after the settle time for resources, drivers, daemonSets
	// and extensions, before it is uncordoned; after minReadySeconds for taints and network, before the next node
	// begins. Then the node has failed. A strategy's default: 300.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// Resources is Wait or Ignore, for allocatable extended resources, such as nvidia.com/gpu, and huge pages. A
	// strategy's default: Wait.
	// +optional
	Resources PartHandling `json:"resources,omitempty"`

	// Drivers is Wait or Ignore, for the CSI drivers in the node's CSINode, and that they serve. One without a CSIDriver object is not waited
	// for. A strategy's default: Wait.
	// +optional
	Drivers PartHandling `json:"drivers,omitempty"`

	// DaemonSets is Wait or Ignore, for the node's pods of DaemonSets that were Ready. A strategy's default: Wait.
	// +optional
	DaemonSets PartHandling `json:"daemonSets,omitempty"`

	// Extensions is Wait or Ignore, for the system extensions beside that of Kubernetes that were merged. A strategy's
	// default: Wait.
	// +optional
	Extensions PartHandling `json:"extensions,omitempty"`

	// Taints is Wait or Ignore, for taints with effect NoSchedule or NoExecute that were not there before. Those by which
	// Kubernetes says that a node is cordoned, not Ready or without its network do not count. A strategy's default: Wait.
	// +optional
	Taints PartHandling `json:"taints,omitempty"`

	// Network is Wait or Ignore, for the Node's condition NetworkUnavailable. A strategy's default: Wait.
	// +optional
	Network PartHandling `json:"network,omitempty"`
}

// PartHandling says whether a node waits until a part of it is back.
// +kubebuilder:validation:Enum=Wait;Ignore
type PartHandling string

// Whether a node waits until a part of it is back.
const (
	PartWait   PartHandling = "Wait"   // the node is not back without it
	PartIgnore PartHandling = "Ignore" // it is not looked for
)

// NodeParts are what a node had before it went out of service. A list that is full may lack more.
type NodeParts struct {
	// Resources are the extended resources and huge pages that were allocatable.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Resources []NodeResource `json:"resources,omitempty"`
	// Drivers are the CSI drivers in the node's CSINode.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	Drivers []string `json:"drivers,omitempty"`
	// ServingDrivers are those of drivers whose socket answered on the node: the kubelet leaves a driver in the CSINode
	// over a reboot.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	ServingDrivers []string `json:"servingDrivers,omitempty"`
	// DaemonSets are those that had a Ready pod on the node, as namespace/name.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	DaemonSets []string `json:"daemonSets,omitempty"`
	// Extensions are the system extensions beside that of Kubernetes that were merged.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	Extensions []string `json:"extensions,omitempty"`
	// Taints are those that kept pods away already, as key:effect.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	Taints []string `json:"taints,omitempty"`
	// NetworkUnavailable reports whether the Node had that condition already.
	// +optional
	NetworkUnavailable bool `json:"networkUnavailable,omitempty"`
}

// NodeResource is how much of a resource was allocatable.
type NodeResource struct {
	// Name of the resource, such as nvidia.com/gpu or hugepages-2Mi.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Name string `json:"name"`
	// Allocatable is how many there were; of huge pages, in bytes.
	// +required
	Allocatable int64 `json:"allocatable"`
}
