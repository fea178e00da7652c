// Package rebootmanager recognizes other programs that reboot nodes, kured and FLUO, by
// their DaemonSets and by what they write to Nodes.
package rebootmanager

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
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

// Active returns the other programs that may reboot nodes now, according to
// these Nodes and DaemonSets.
func Active(nodes []*corev1.Node, daemonSets []*appsv1.DaemonSet) []preflight.RebootManager {
	var found []preflight.RebootManager
	runs, locks := "", kuredLocks(daemonSets)
	for _, d := range daemonSets {
		for _, lock := range locks {
			if by, holders, held := lockHolders(d.Annotations[lock]); held {
				message := fmt.Sprintf("kured holds its lock for %s (annotation %s of DaemonSet %s/%s); remove kured, as two programs would reboot the same nodes",
					by, lock, d.Namespace, d.Name)
				found = append(found, preflight.RebootManager{Name: "kured", Message: message, Nodes: holders, DaemonSet: d.Namespace + "/" + d.Name, Active: true, Passes: true})
			}
		}
		if RunsFLUO(d) {
			runs = d.Namespace + "/" + d.Name
		}
	}
	if manager, may := fluo(nodes, runs); may {
		found = append(found, manager)
	}
	return found
}

// RunsFLUO reports whether the DaemonSet is FLUO's agent and runs on a node. Without its
// agent, FLUO reboots no node.
func RunsFLUO(d *appsv1.DaemonSet) bool {
	for _, c := range d.Spec.Template.Spec.Containers {
		if strings.Contains(c.Image, fluoImage) {
			return d.Status.DesiredNumberScheduled > 0
		}
	}
	return false
}

// FLUOMarks returns the annotations that fluo reads.
func FLUOMarks(n *corev1.Node) [4]string {
	return [4]string{n.Annotations[fluoNeeded], n.Annotations[fluoOK], n.Annotations[fluoInProgress], n.Annotations[fluoPaused]}
}

// fluo returns FLUO and true if there is a node that it reboots, or may reboot at any
// moment. The labels, and annotations with the value "false", that it leaves on Nodes when
// it is removed do not count.
func fluo(nodes []*corev1.Node, runs string) (preflight.RebootManager, bool) {
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
		return preflight.RebootManager{Name: "FLUO", Message: message, Active: true}, true
	}
	return preflight.RebootManager{}, false
}
