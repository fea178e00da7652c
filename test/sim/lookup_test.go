package sim

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

func (w *world) controlPlanes() []*node {
	return slices.DeleteFunc(slices.Clone(w.nodes), func(n *node) bool { return !n.controlPlane || n.removed })
}

// apiUp reports whether the API server answers: a majority of etcd's members runs.
func (w *world) apiUp() bool {
	members, up := 0, 0
	for _, n := range w.nodes {
		if n.controlPlane && !n.removed {
			members++
			if n.memberUp() {
				up++
			}
		}
	}
	return up >= members/2+1 && !w.now().Before(w.apiDownUntil)
}

func (w *world) node(name string) *node {
	for _, n := range w.nodes {
		if n.name == name && !n.removed {
			return n
		}
	}
	return nil
}

// upgradeUID returns the UID in a node's spec.
func (w *world) upgradeUID(n *node) string {
	if nu := w.nodeUpgrade(n.name); nu != nil && nu.Spec.Upgrade != nil {
		return nu.Spec.Upgrade.UID
	}
	return ""
}

func (w *world) nodeUpgrade(name string) *v1alpha1.NodeUpgrade {
	return get[*v1alpha1.NodeUpgrade](w.api, key{Resource: "nodeupgrades", Name: name})
}

// upgrades returns the live ClusterUpgrades.
func (w *world) upgrades() []*v1alpha1.ClusterUpgrade {
	var list []*v1alpha1.ClusterUpgrade
	for _, s := range w.api.list("clusterupgrades", "", func(tree) bool { return true }) {
		list = append(list, s.object("clusterupgrades").(*v1alpha1.ClusterUpgrade))
	}
	return list
}

// edit changes an object as an administrator, if it exists.
func (w *world) edit(k key, change func(tree)) {
	found := w.api.objects[k]
	if found == nil {
		return
	}
	t := clone(found.tree).(tree)
	change(t)
	w.api.put("admin", k, t)
}

func digest(n int) string { return fmt.Sprintf("%064d", n) }
