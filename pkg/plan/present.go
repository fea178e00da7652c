package plan

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// givingUp is how long a node is expected to need that was called back.
const givingUp = time.Minute

func newForecast(s fleet.Snapshot, now time.Time) *forecast {
	d := newDecider(s, now)
	// What the forecast changes is its own.
	s.Slots = withSlots(s.Slots, d.budget)
	s.APIServers, s.Etcd = slices.Clone(s.APIServers), slices.Clone(s.Etcd)
	f := &forecast{decider: newDecider(s, now), spans: map[string]span{}}
	f.checks.stay = true
	if f.target == nil || f.wholly.Reason != "" {
		f.nodes = nil
		return f
	}
	f.decideNodes()
	f.freeSlots(f.slotPlan())
	for _, n := range f.nodes {
		f.takeUp(n)
	}
	f.forgetDone()
	return f
}

// withSlots is the slots as the coordinator will have made them.
func withSlots(slots []fleet.Slot, budget int) []fleet.Slot {
	there := map[string]bool{}
	for _, slot := range slots {
		there[slot.Name] = true
	}
	slots = slices.Clone(slots)
	for i := range budget {
		if !there[fleet.SlotName(i)] {
			slots = append(slots, fleet.Slot{Name: fleet.SlotName(i)})
		}
	}
	return slots
}

// freeSlots does what the coordinator does about owners that may not go.
func (f *forecast) freeSlots(p SlotPlan) {
	for _, n := range f.nodes {
		if n.slot != nil && n.slot.Holder == (fleet.Owner{}) && slices.Contains(p.Withdraw, n.Owner()) {
			n.slot = nil
		}
	}
	for i := range f.Slots {
		slot := &f.Slots[i]
		for _, gone := range [][]fleet.Owner{p.Reap, p.Abandon, p.Withdraw} {
			if slices.Contains(gone, slot.Holder) || slot.Holder == (fleet.Owner{}) && slices.Contains(gone, slot.ReservedFor) {
				slot.Holder, slot.ReservedFor = fleet.Owner{}, fleet.Owner{}
			}
		}
	}
}

// takeUp takes a node as it is: at work already, or on its way to be staged.
func (f *forecast) takeUp(n *node) {
	switch {
	case !n.counts() || n.failed():
	case n.busy():
		start := passBegan(n, f.now)
		w := work{node: n, components: n.spec.Release == v1alpha1.ReleaseControlPlane}
		w.givesUp = n.decision == Wait || !f.forTarget(n) || n.status.Step == v1alpha1.StepAborting
		w.span = span{start, start.Add(f.expected(n, w.components))}
		if w.givesUp {
			w.end = f.now.Add(givingUp)
		}
		if w.end.Before(f.now) {
			w.end = f.now
		}
		f.begin(w)
	case n.Ready && !n.preparedAt(f.to) && !n.cannotStage() && n.status.Step != "":
		at := f.now.Add(f.durations().staging)
		f.staged = &at
	}
}

// passBegan is when a node that is at work took its slot.
func passBegan(n *node, now time.Time) time.Time {
	for _, step := range slices.Backward(n.status.Steps) {
		if step.Step == v1alpha1.StepLocking {
			return step.StartTime.Time
		}
	}
	if n.status.StepStartTime != nil {
		return n.status.StepStartTime.Time
	}
	return now
}
