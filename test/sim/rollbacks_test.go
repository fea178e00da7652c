package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
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
// to the one that it brings, where the next patch may have come. To another minor it is a slip.
func (w *world) takeBack(f fault) {
	to := w.script.From
	if f.After || minor(w.script.From) != minor(w.script.To) && f.Number%2 == 0 {
		to = w.script.To
	}
	spec := w.upgradeSpec(to)
	spec["type"], spec["comment"] = string(v1alpha1.TypeRollback), "it is bad"
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

// checkTaken checks that no node begins with a version that is being taken back, or was, unless a person
// has asked for it since.
func (w *world) checkTaken(a *agentProgram) {
	u := w.upgradeOf(a)
	if u == nil || u.Spec.Type == v1alpha1.TypeRollback || u.Spec.Version == "" || u.Spec.Ignores(preflight.VersionBlocked) {
		return
	}
	w.checkTakenBefore(a, u)
	for _, back := range w.upgrades() {
		taken := back.Spec.Type == v1alpha1.TypeRollback && older(back.Spec.Version, u.Spec.Version) && minor(back.Spec.Version) == minor(u.Spec.Version)
		if taken && back.Status.Outcome == "" && !back.Spec.Suspend && (back.Spec.Approved.Upgrade || back.Spec.Strategy.Approval != v1alpha1.ApprovalRequired) && !back.CreationTimestamp.Before(&u.CreationTimestamp) &&
			w.decidedSince(back.CreationTimestamp.Add(time.Second), a) {
			w.broken("taken back", "%s takes a slot for upgrade %s, and %s takes %s back", a.node.name, u.Name, back.Name, u.Spec.Version)
		}
	}
	if policy := w.livePolicy(); policy != nil {
		for _, taken := range policy.Status.TakenBack {
			if taken.Version == u.Spec.Version && w.decidedSince(taken.Time.Add(time.Second), a) {
				w.broken("taken back", "%s takes a slot for upgrade %s, and %s took %s back", a.node.name, u.Name, taken.Upgrade.Name, taken.Version)
			}
		}
	}
}

// isOnHold reports whether the Node has the hold label.
func (w *world) isOnHold(n *node) bool {
	object := get[*corev1.Node](w.api, key{Resource: "nodes", Name: n.name})
	return object != nil && rules.Label(object.Labels).Holds()
}

// isTakenBack reports whether a version was taken back: a node that is behind it waits until a person
// requests it again.
func (w *world) isTakenBack(version string) bool {
	policy := w.livePolicy()
	return policy != nil && slices.ContainsFunc(policy.Status.TakenBack, func(t v1alpha1.TakenBackVersion) bool { return t.Version == version })
}
