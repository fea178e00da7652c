package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// OfAnother is whether the NodeUpgrade was left behind by a Node that bore this
// one's name before, and is about to be deleted.
func (n *NodeUpgrade) OfAnother(node types.UID) bool {
	return slices.ContainsFunc(n.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.Kind == "Node" && owner.UID != node
	})
}
