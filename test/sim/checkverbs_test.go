package sim

import (
	"maps"
	"slices"
)

// checkDigest checks promise 7.
func (w *world) checkDigest(n *node, given verbArgs, what string) {
	fixed, known := w.fixed[w.upgradeUID(n)]
	if given.Version == n.active && what == "activates" {
		return // repeated
	}
	if what == "stages" && slices.Contains(slices.Collect(maps.Values(w.fixed)), given.SHA256) {
		return // for the upgrade that the node was ordered for when its reconcile began
	}
	if known && fixed != given.SHA256 {
		w.broken("promise 7", "%s %s an image with digest %s, and %s was fixed at the trigger", n.name, what, given.SHA256, fixed)
	}
}

// checkSnapshot checks that kubeadm does not begin before a snapshot of etcd was taken.
func (w *world) checkSnapshot(n *node, to string) {
	if !n.controlPlane || !w.script.Snapshot || w.snapshots[w.upgradeUID(n)] > 0 {
		return
	}
	for _, other := range w.controlPlanes() {
		if other.staticPods == to {
			return // too late for one
		}
	}
	w.broken("snapshot", "%s runs kubeadm, and no snapshot of etcd was taken", n.name)
}

// checkKubelet checks promise 3, and promise 7 once more, when a kubelet starts.
func (w *world) checkKubelet(n *node) {
	w.checkDirection(n)
	for _, other := range w.controlPlanes() {
		ofAnother := w.script.ClusterAPIDecides && n.controlPlane && other != n // its kubelet talks to its own apiserver
		if minor(other.staticPods) < minor(n.kubelet) && !ofAnother {
			w.broken("promise 3", "%s starts kubelet %s beside the apiserver %s of %s", n.name, n.kubelet, other.staticPods, other.name)
		}
	}
	if n.kubelet == w.script.To && n.installed[n.kubelet] != digest(1) && !w.script.has("republish") && !w.script.has("recreate upgrade") {
		w.broken("promise 7", "%s has merged an image with digest %s", n.name, n.installed[n.kubelet])
	}
}
