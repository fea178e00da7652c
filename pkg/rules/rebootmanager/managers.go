package rebootmanager

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// FLUO's labels and annotations on Nodes, and its image.
// https://github.com/flatcar/flatcar-linux-update-operator/blob/main/pkg/constants/constants.go
const (
	fluoPrefix     = "flatcar-linux-update.v1.flatcar-linux.net/"
	fluoNeeded     = fluoPrefix + "reboot-needed"
	fluoOK         = fluoPrefix + "reboot-ok"
	fluoInProgress = fluoPrefix + "reboot-in-progress"
	fluoPaused     = fluoPrefix + "reboot-paused"
	fluoImage      = "flatcar-linux-update-operator"
)

// Active returns the other programs that may reboot nodes now, according to these Nodes and
// DaemonSets. The UpgradePolicy may name DaemonSets of kured, which then count in any state.
// Others count if they reach their nodes and run there: who can run such a pod is root on the
// node, and who can only create a DaemonSet must not be able to stop upgrades. slots are ours, as far as the caller
// knows them.
func Active(nodes []*corev1.Node, daemonSets []*appsv1.DaemonSet, named []v1alpha1.DaemonSetReference, slots ...clusterstate.Slot) []clusterstate.RebootManager {
	var found []clusterstate.RebootManager
	for _, kured := range Kured(daemonSets, named) {
		for _, lock := range locksOf(kured, daemonSets) {
			if isNamed(kured, named) || runs(kured) || anyAway(nodes, lock.nodes, slots) {
				found = append(found, lock.manager())
			}
		}
	}
	fluoRuns := ""
	for _, d := range daemonSets {
		if RunsFLUO(d) {
			fluoRuns = d.Namespace + "/" + d.Name
		}
	}
	if manager, may := fluo(nodes, fluoRuns); may {
		found = append(found, manager)
	}
	return found
}

// manager returns kured, which holds the lock. A lock whose holder or time cannot be read does
// not pass by itself.
func (l lock) manager() clusterstate.RebootManager {
	taken := ""
	if l.since != nil {
		taken = ", taken " + clusterstate.FormatTime(*l.since)
	}
	message := fmt.Sprintf("kured holds its lock for %s%s (annotation %s of DaemonSet %s/%s); remove kured, as two programs would reboot the same nodes",
		l.by, taken, l.annotation, l.on.Namespace, l.on.Name)
	return clusterstate.RebootManager{
		Name: "kured", Message: message, Nodes: l.nodes, DaemonSet: l.on.Namespace + "/" + l.on.Name, Active: true, Passes: len(l.nodes) > 0, Since: l.since,
	}
}

// RunsFLUO reports whether the DaemonSet is FLUO's agent and runs on a node. Without its
// agent, FLUO reboots no node.
func RunsFLUO(d *appsv1.DaemonSet) bool {
	isFLUO := func(c corev1.Container) bool { return strings.Contains(c.Image, fluoImage) }
	return runs(d) && reachesHost(d.Spec.Template.Spec) && slices.ContainsFunc(d.Spec.Template.Spec.Containers, isFLUO)
}

// FLUOMarks returns the annotations that fluo reads.
func FLUOMarks(n *corev1.Node) [4]string {
	return [4]string{n.Annotations[fluoNeeded], n.Annotations[fluoOK], n.Annotations[fluoInProgress], n.Annotations[fluoPaused]}
}

// fluo returns FLUO and true if there is a node that it reboots, or may reboot at any
// moment. The labels, and annotations with the value "false", that it leaves on Nodes when
// it is removed do not count.
func fluo(nodes []*corev1.Node, runs string) (clusterstate.RebootManager, bool) {
	for _, n := range nodes {
		is := func(mark string) bool { return n.Annotations[mark] == "true" }
		var does string
		switch {
		case is(fluoOK), is(fluoInProgress):
			does = "reboots"
		case !is(fluoPaused) && (is(fluoNeeded) || n.Labels[fluoNeeded] == "true"):
			does = "is about to reboot"
		case !is(fluoPaused) && runs != "":
			does = "may reboot"
		default:
			continue
		}
		by := "annotations " + fluoPrefix + "reboot-*"
		if runs != "" {
			by = "DaemonSet " + runs
		}
		message := fmt.Sprintf("FLUO %s node %s (%s); remove FLUO, or annotate every node %s=true", does, n.Name, by, fluoPaused)
		return clusterstate.RebootManager{Name: "FLUO", Message: message, Active: true}, true
	}
	return clusterstate.RebootManager{}, false
}
