package plan

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"

// isFor reports whether ref is that very upgrade: one that was deleted and created
// again under its name is another one.
func isFor(ref *v1alpha1.UpgradeReference, u *v1alpha1.ClusterUpgrade) bool {
	return ref != nil && u != nil && ref.UID == string(u.UID)
}

// nameOf returns the name of the upgrade that ref names; empty for none.
func nameOf(ref *v1alpha1.UpgradeReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}
