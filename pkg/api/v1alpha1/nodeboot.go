package v1alpha1

import (
	"slices"
	"strings"
)

// What fits into a ClusterUpgrade: a kernel's boot ID has 36 characters.
const (
	MaxBoots  = 5000
	MaxBootID = 64
)

// NodeBoot is the boot that a node was in.
type NodeBoot struct {
	// Name of the node.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// BootID is the one that its kubelet reported.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	BootID string `json:"bootID"`
}

// BootOf returns the boot that the upgrade ends on the node. Empty: it ends none, as the node asks
// for no reboot by the upgrade's rebootPolicy, or has joined since the trigger.
func (s *ClusterUpgradeStatus) BootOf(node string) string {
	i, found := slices.BinarySearchFunc(s.Boots, node, func(b NodeBoot, name string) int { return strings.Compare(b.Name, name) })
	if !found {
		return ""
	}
	return s.Boots[i].BootID
}
