package sim

import (
	"maps"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// injectHost injects a fault into what is on a node's disk, or into its operating system.
func (w *world) injectHost(n *node, f fault) {
	switch f.Kind {
	case "clock":
		w.injectClock(n, f)
	case "image vanishes":
		n.vanish(f.Number)
	case "kubeadm record lost":
		n.kubeadm, n.kubeadms = "", 0
	case "joined later":
		n.joinedLater, n.kubeadms = true, 0
		w.until(f, func() { n.joinedLater, n.kubeadms = false, 0 })
	case "odd extension":
		n.odd = true
		w.until(f, n.removeExtension)
	case "containerd fails":
		n.noRuntime = true
		n.kubeletDies()
		w.until(f, func() {
			n.noRuntime = false
			n.restartKubelet()
		})
	case "os update":
		n.ask(&n.updateEngine)
	}
}

// oddRehearsals are what rehearsals find while the node has the odd extension.
func (n *node) oddRehearsals() (all []v1alpha1.Rehearsal) {
	problem := v1alpha1.Problem{Reason: v1alpha1.NothingMerges, Message: "an odd extension"}
	for version := range n.installed {
		all = append(all, v1alpha1.Rehearsal{Version: version, Problems: []v1alpha1.RehearsalProblem{{Problem: problem, Cause: v1alpha1.CauseNode}}})
	}
	return all
}

// removeExtension removes the odd extension, as a person does, and merges what the boot could not.
func (n *node) removeExtension() {
	n.odd = false
	if n.oddBoot && n.on && !n.shutting {
		n.merge()
	}
}

// notMerged is what systemd-sysext says where it merges nothing.
func (n *node) notMerged() string {
	if n.odd {
		return "Failed to read metadata for image odd: No medium found"
	}
	return "nothing was merged"
}

// checkRehearsed checks that a node whose agent knows that no boot would bring it back does not begin.
func (w *world) checkRehearsed(a *agentProgram) {
	if n := a.node; n.oddSeen && n.factsAt.Before(a.ranAt) {
		w.broken("rehearsal", "%s takes a slot, and the rehearsal of its next boot failed", n.name)
	}
}

// ask has the operating system ask for a reboot, in one of two ways.
func (n *node) ask(way *bool) {
	if n.on && !*way {
		*way, n.asksSince = true, n.w.now()
		n.askUpdateEngine()
		n.w.wakeAgent(n)
	}
}

// vanish deletes the file of an image, which stays merged if it is. A node with an image that
// does not work, and no other, would be lost.
func (n *node) vanish(which int) {
	if len(n.broken) > 0 {
		return
	}
	versions := slices.Sorted(maps.Keys(n.installed))
	if len(versions) > 0 {
		delete(n.installed, versions[which%len(versions)])
		n.vanishedAt = n.w.now()
	}
}

// restoreImages puts back, as a person does, the image that the next boot needs.
func (w *world) restoreImages(n *node) {
	n.joinedLater, n.noRuntime = false, false
	n.removeExtension()
	w.setClock(n)
	if n.removed || n.packages || n.installed[n.active] != "" {
		return
	}
	n.installed[n.active] = w.digestOf(n.active)
	if n.active == w.script.From {
		n.installed[n.active] = digest(0)
	}
	if n.on && n.kubelet == "" && !n.shutting {
		n.merge()
	}
}

// maxKubeadms is how often kubeadm may complete on a node, unless a fault hides that it has:
// an upgrade, its retries, and the upgrade that follows.
const maxKubeadms = 8

// checkKubeadmAgain checks that kubeadm does not run again and again, though it has completed.
func (w *world) checkKubeadmAgain(n *node) {
	if n.kubeadms > maxKubeadms {
		w.broken("kubeadm", "kubeadm has completed %d times on %s", n.kubeadms, n.name)
	}
}

// checkLink checks that a node is not rebooted whose symlink points to an image that was
// deleted, as its agent knows.
func (w *world) checkLink(a *agentProgram) {
	n := a.node
	if !n.packages && n.installed[n.active] == "" && n.vanishedAt.Before(n.factsAt) && n.factsAt.Before(a.ranAt) {
		w.broken("image", "%s reboots, and the image of %s is gone", n.name, n.active)
	}
}
