package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// anyRequests lets Cluster API decide on versions in one seed of eight. Sometimes it takes its requests back,
// as when Machines are deleted.
func anyRequests(s *script) {
	r := rand.New(rand.NewPCG(s.Seed, 14))
	if s.ClusterAPIDecides = r.IntN(8) == 0 && !s.Reboot; !s.ClusterAPIDecides {
		return
	}
	for range r.IntN(4) {
		f := fault{At: early(r.Float64(), s.Lasts), Kind: "ask for nobody", For: time.Duration(5+r.IntN(120)) * time.Second}
		if r.IntN(3) > 0 {
			f.Step = []v1alpha1.Step{v1alpha1.StepLocking, v1alpha1.StepKubeadm, v1alpha1.StepChecking, v1alpha1.StepDraining, v1alpha1.StepRebooting, v1alpha1.StepVerifying}[r.IntN(6)]
		}
		s.Faults = append(s.Faults, f)
	}
}

// keepAsking has Cluster API's extension look at the cluster from time to time.
func (w *world) keepAsking() {
	w.ask()
	w.after(time.Duration(3+w.noise(12))*time.Second, "Cluster API asks", w.keepAsking)
}

// ask writes which nodes Cluster API asks for: of those that are behind, one control plane, then up to two
// workers. Of a patch, workers do not wait for control planes, which are another object's there.
func (w *world) ask() {
	if !w.apiUp() {
		return
	}
	open := false
	for _, u := range w.upgrades() {
		if u.Status.Outcome != "" || u.Spec.Version == "" || u.Spec.Type == v1alpha1.TypeRollback {
			continue
		}
		open = true
		asked := map[string]bool{}
		controlPlane, workers := false, 0
		for _, n := range w.nodes {
			switch {
			case w.now().Before(w.since["nobody"]) || !w.isBehind(n, u.Spec.Version):
				continue
			case n.controlPlane && controlPlane, !n.controlPlane && (workers == 2 || controlPlane && minor(u.Spec.Version) != minor(w.script.From)):
				continue
			case n.controlPlane:
				controlPlane = true
			default:
				workers++
			}
			asked[n.uid] = true
		}
		w.writeRequests(u, asked)
	}
	policy := w.livePolicy()
	if open || policy == nil || policy.Status.Version == "" || policy.Spec.VersionsFrom != v1alpha1.VersionsFromClusterAPI {
		return
	}
	newer := func(n *node) bool { return older(policy.Status.Version, n.staticPods) } // after a Rollback, which takes only kubelets back
	if !slices.ContainsFunc(w.controlPlanes(), newer) {
		for _, n := range w.nodes {
			if w.isBehind(n, policy.Status.Version) && !w.isTakenBack(policy.Status.Version) {
				w.asked++
				w.request(fmt.Sprintf("capi-%d", w.asked), w.upgradeSpec(policy.Status.Version))
				return
			}
		}
	}
}

// writeRequests has Cluster API ask for these nodes, by their UIDs, and for no others in the upgrade.
func (w *world) writeRequests(u *v1alpha1.ClusterUpgrade, asked map[string]bool) {
	for _, n := range w.nodes {
		nu := w.nodeUpgrade(n.name)
		if n.removed || nu == nil || !nu.OwnedBy(types.UID(n.uid)) || nu.RequestedFor(u.UID) == asked[n.uid] {
			continue
		}
		w.note("Cluster API asks for %s in %s: %t", n.name, u.Name, asked[n.uid])
		w.edit(key{Resource: "nodeupgrades", Name: n.name}, func(t tree) {
			if annotations := child(t, "metadata", "annotations"); asked[n.uid] {
				annotations[v1alpha1.RequestedForAnnotation] = string(u.UID)
			} else {
				w.since["requested "+n.uid] = w.now()
				delete(annotations, v1alpha1.RequestedForAnnotation)
			}
		})
	}
}

// isBehind reports whether a managed node has, as Cluster API sees it, not reached the version.
func (w *world) isBehind(n *node, version string) bool {
	object := get[*corev1.Node](w.api, key{Resource: "nodes", Name: n.name})
	if n.removed || n.packages || n.unmanaged || object == nil || string(object.UID) != n.uid {
		return false
	}
	return older(object.Status.NodeInfo.KubeletVersion, version) || n.controlPlane && older(n.staticPods, version)
}

// notAskedFor reports whether a node waits until Cluster API asks for it, which may be never.
func notAskedFor(nu *v1alpha1.NodeUpgrade) bool {
	reason, _ := nu.Status.Hold()
	return reason == v1alpha1.ReasonNotRequested
}

// checkRequested checks that Cluster API asks for a node that begins, where it decides, or did so until the
// agent's reconcile began.
func (w *world) checkRequested(a *agentProgram, what string) {
	nu := w.nodeUpgrade(a.node.name)
	if !w.script.ClusterAPIDecides || w.livePolicy() == nil || nu == nil || nu.Spec.Version == "" || nu.Spec.Type == v1alpha1.TypeRollback || w.since["policy"].After(a.ranAt) {
		return
	}
	if w.since["requested "+a.node.uid].After(a.ranAt) || w.specChangedAt[nu.Name].After(a.ranAt) || a.steps.State().Step.Info().Phase == v1alpha1.PhaseCommitted {
		return
	}
	if nu.RequestedFor(types.UID(a.steps.State().Upgrade.UID)) {
		return
	}
	w.broken("requests", "%s %s, and Cluster API has not asked for it", a.node.name, what)
}
