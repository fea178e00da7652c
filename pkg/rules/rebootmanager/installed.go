package rebootmanager

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Installed returns the other programs that reboot nodes, including those that may
// not do so now.
func Installed(nodes []*corev1.Node, daemonSets []*appsv1.DaemonSet, named []v1alpha1.DaemonSetReference) []clusterstate.RebootManager {
	active := Active(nodes, daemonSets, named)
	found := slices.Clone(active)
	addInactive := func(name, where string, runs bool, message string) {
		if runs && !slices.ContainsFunc(active, func(m clusterstate.RebootManager) bool { return m.Name == name }) {
			found = append(found, clusterstate.RebootManager{Name: name, Message: message, DaemonSet: where})
		}
	}
	for _, d := range daemonSets {
		where := d.Namespace + "/" + d.Name
		addInactive("kured", where, len(Kured([]*appsv1.DaemonSet{d}, named)) > 0,
			fmt.Sprintf("kured is installed (DaemonSet %s), and its lock is free; remove kured, as two programs would reboot the same nodes", where))
		addInactive("FLUO", where, RunsFLUO(d),
			fmt.Sprintf("FLUO is installed (DaemonSet %s), and paused on every node; remove FLUO, as two programs would reboot the same nodes", where))
	}
	return found
}
