package snapshot

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rebootmanager"
)

// Snapshot returns the cluster from memory. The caller must not change what the
// snapshot points to.
func (r *Reader) Snapshot() fleet.Snapshot {
	nodes, daemonSets := sorted[*corev1.Node](r.nodes), sorted[*appsv1.DaemonSet](r.daemonSets)
	s := fleet.Snapshot{
		NodeUpgrades:   values(sorted[*v1alpha1.NodeUpgrade](r.nodeUpgrades)),
		Inventories:    values(sorted[*v1alpha1.NodeInventory](r.inventories)),
		Upgrades:       values(sorted[*v1alpha1.ClusterUpgrade](r.upgrades)),
		Records:        values(sorted[*v1alpha1.UpgradeRecord](r.records)),
		Schedules:      values(sorted[*v1alpha1.MaintenanceSchedule](r.schedules)),
		Policy:         r.Policy(),
		RebootManagers: rebootmanager.Active(nodes, daemonSets, r.Policy().RebootManagers()),
		Webhooks:       r.webhooks(),
	}
	for _, n := range nodes {
		s.Nodes = append(s.Nodes, Node(n))
	}
	addAgents(&s, daemonSets, nodes, sorted[*corev1.Pod](r.agents))
	s.Slots = slots(sorted[*coordinationv1.Lease](r.leases))
	addStaticPods(&s, sorted[*corev1.Pod](r.pods))
	return s
}

// Policy returns the UpgradePolicy named cluster from memory, or nil.
func (r *Reader) Policy() *v1alpha1.UpgradePolicy {
	for _, policy := range sorted[*v1alpha1.UpgradePolicy](r.policies) {
		return policy
	}
	return nil
}

// sorted returns what an informer knows, sorted by name, so that equal clusters
// give equal snapshots.
func sorted[T metav1.Object](informer cache.SharedIndexInformer) []T {
	var list []T
	for _, object := range informer.GetStore().List() {
		if one, ok := object.(T); ok {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	return list
}

func values[T any](pointers []*T) []T {
	list := make([]T, len(pointers))
	for i, one := range pointers {
		list[i] = *one
	}
	return list
}
