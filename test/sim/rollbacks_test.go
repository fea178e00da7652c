package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// anyRollbacks returns Rollbacks that people ask for, in one seed of five: of all nodes or of one,
// while a patch is brought, or later.
func anyRollbacks(s script) (list []fault) {
	r := rand.New(rand.NewPCG(s.Seed, 11))
	if s.Reboot || r.IntN(5) > 0 {
		return nil
	}
	names := s.nodes()
	for range 1 + r.IntN(2) {
		f := fault{At: time.Duration(r.Float64() * float64(s.Lasts)).Truncate(10 * time.Millisecond), Kind: "take back", Number: r.IntN(12), After: r.IntN(4) == 0}
		if r.IntN(3) == 0 {
			f.Who = names[r.IntN(len(names))]
		}
		if r.IntN(3) == 0 {
			f.Step = triggers[r.IntN(len(triggers))]
		}
		list = append(list, f)
	}
	return list
}

// takeBack requests a Rollback: of one node, or of all, to the version that the script begins with; or
// to the one that it brings, where the next patch may have come.
func (w *world) takeBack(f fault) {
	to := w.script.From
	if f.After || minor(w.script.From) != minor(w.script.To) {
		to = w.script.To
	}
	spec := w.upgradeSpec(to)
	spec["type"], spec["reason"] = string(v1alpha1.TypeRollback), "it is bad"
	delete(child(spec, "strategy"), "method")
	name := "back"
	if n := w.node(f.Who); n != nil {
		spec["nodeSelector"] = tree{"matchLabels": tree{"kubernetes.io/hostname": n.name}}
		name += "-" + n.name
	}
	w.rollbacks = append(w.rollbacks, to)
	w.request(name, spec)
}

// checkDirection checks promise 3 when a kubelet starts: it is of an older version than before only if
// a Rollback asked for it, a person or the guard returned the node; and within its minor.
func (w *world) checkDirection(n *node) {
	before := n.ran
	if n.ran = n.kubelet; !older(n.kubelet, before) {
		return
	}
	guarded := n.rollback != nil && n.rollback.From == n.kubelet
	asked := slices.Contains(w.rollbacks, n.kubelet) && minor(n.kubelet) == minor(before)
	if !guarded && !asked && !w.script.has("go back") && !w.script.has("image vanishes") {
		w.broken("promise 3", "%s starts kubelet %s after %s, and no Rollback asks for it", n.name, n.kubelet, before)
	}
}

// checkTakenBack checks that nothing automatic brings a version that was taken back before: as the
// policy's status had it when the coordinator planned last.
func (w *world) checkTakenBack(created *v1alpha1.ClusterUpgrade) {
	policy := w.livePolicy()
	if policy == nil || created.Spec.Version == "" || w.script.has("delete policy") {
		return
	}
	for _, taken := range policy.Status.TakenBack {
		if taken.Version == created.Spec.Version && w.now().Sub(taken.Time.Time) > grace {
			w.broken("taken back", "the coordinator creates %s, and %s took %s back", created.Name, taken.Upgrade.Name, taken.Version)
		}
	}
}

// isTakenBack reports whether a version was taken back: a node that is behind it waits until a person
// requests it again.
func (w *world) isTakenBack(version string) bool {
	policy := w.livePolicy()
	return policy != nil && slices.ContainsFunc(policy.Status.TakenBack, func(t v1alpha1.TakenBackVersion) bool { return t.Version == version })
}
