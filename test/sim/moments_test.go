package sim

import (
	"math/rand/v2"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// anyDecisions returns what people decide at moments that random times hardly meet: that a node
// is abandoned between its last check and its reboot, that a failed upgrade is tried again, and
// that a node goes back to its former version after an upgrade.
func anyDecisions(s script) (list []fault) {
	r := rand.New(rand.NewPCG(s.Seed, 9))
	names := s.nodes()
	node := func() string { return names[r.IntN(len(names))] }
	if r.IntN(5) == 0 {
		step := []v1alpha1.Step{v1alpha1.StepActivating, v1alpha1.StepActivating, v1alpha1.StepRebooting, v1alpha1.StepDraining}[r.IntN(4)]
		at := early(r.Float64()*r.Float64(), s.Lasts)
		list = append(list, fault{At: at, Kind: "abandon", Who: node(), Step: step, Number: r.IntN(12)})
		if told := r.IntN(3); told > 0 { // its agent is told nothing, or only not that its slot is free
			list = append(list, fault{At: at, Kind: "stall", Who: "agent " + node(), Step: step, After: told == 1, Number: leasesView, For: time.Minute})
		}
	}
	if r.IntN(4) == 0 {
		step := []v1alpha1.Step{v1alpha1.StepFailed, v1alpha1.StepRolledBack}[r.IntN(2)]
		list = append(list, fault{Kind: "retry", Step: step, Number: r.IntN(100)})
	}
	if r.IntN(4) == 0 {
		f := fault{At: early(r.Float64(), s.Lasts), Kind: "go back", Who: node()}
		if r.IntN(2) == 0 {
			f.Who = names[r.IntN(s.ControlPlanes)]
		}
		list = append(list, f)
	}
	return list
}

// leasesView is the number of an agent's view of slots.
const leasesView = 3

// anyTolerated has a worker fail, in one seed of twelve, that the upgrade tolerates, and the others
// wait longer for a window than a report of the checks counts. The failed one keeps its slot, and so there are two; the
// nodes settle for so long that not all others are done by then.
func anyTolerated(s *script) bool {
	r := rand.New(rand.NewPCG(s.Seed, 10))
	if s.ControlPlanes == 2 || s.Reboot || r.IntN(12) > 0 {
		return false
	}
	s.Workers, s.Groups, s.Settle = max(4, s.Workers), false, 100
	s.MaxFailures, s.Budget, s.Lasts, s.Closes = max(1, s.MaxFailures), 2, 45*time.Minute, s.Opens+time.Hour
	s.Broken[s.nodes()[s.ControlPlanes]] = imageNotReady
	quieten(s)
	s.Faults = append(s.Faults, fault{Kind: "freeze", Step: v1alpha1.StepRolledBack, For: time.Duration(11+r.IntN(4)) * time.Minute})
	return true
}

// goBack returns a node to the version that it ran before an upgrade that has ended, as
// docs/rollback.md says. Until the upgrade has ended the person waits.
func (w *world) goBack(n *node, f fault) {
	nu := w.nodeUpgrade(n.name)
	resting := nu != nil && nu.Status.Step == v1alpha1.StepIdle && !nu.Spec.Release.Granted() && n.healthy() && n.busy() == ""
	for _, u := range w.upgrades() {
		resting = resting && u.Status.Outcome != ""
	}
	if !resting || n.active != w.script.To {
		w.after(20*time.Second, f.Kind, func() {
			if !w.repaired && !n.removed {
				w.goBack(n, f)
			}
		})
		return
	}
	if n.installed[w.script.From] == "" || n.packages {
		return
	}
	w.note("a person has %s go back to %s", n.name, w.script.From)
	n.active = w.script.From
	n.shutdown(false, "a person asks for it")
}

// retriedGoesOn returns an upgrade in which a node has failed, and which goes on although another
// one is there to take its place.
func (w *world) retriedGoesOn() *v1alpha1.ClusterUpgrade {
	for _, u := range w.upgrades() {
		if u.Status.Outcome != "" || u.Status.TriggerTime == nil || !w.failedIn(u) {
			continue
		}
		for _, other := range w.upgrades() {
			if other.Spec.Retries(u) && other.Status.Outcome == "" {
				return u
			}
		}
	}
	return nil
}

// failedIn reports whether a managed node has failed in the upgrade.
func (w *world) failedIn(u *v1alpha1.ClusterUpgrade) bool {
	for _, n := range w.nodes {
		nu := w.nodeUpgrade(n.name)
		if n.removed || n.unmanaged || nu == nil || nu.Abandoned != nil || nu.Status.Upgrade == nil || nu.Status.Upgrade.UID != string(u.UID) {
			continue
		}
		if w.stopped(n.owner()) {
			return true
		}
	}
	return false
}
