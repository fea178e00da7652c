package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// OwnedBy reports whether the NodeUpgrade belongs to the Node with that UID. One of a
// deleted Node with the same name does not.
func (n *NodeUpgrade) OwnedBy(node types.UID) bool { return ownedBy(n, node) }

// OwnedBy reports whether the NodeInventory is about the Node with that UID, and
// not about a deleted one of the same name.
func (n *NodeInventory) OwnedBy(node types.UID) bool { return ownedBy(n, node) }

func ownedBy(object metav1.Object, node types.UID) bool {
	return !slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		return owner.Kind == "Node" && owner.UID != node
	})
}
