package metrics

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

func (s *scrape) policy() {
	versions := map[string]bool{}
	for _, offer := range s.Snapshot.Source.Offers {
		versions[offer.Version] = true
	}
	s.set(sourceVersions, float64(len(versions)))
	policy := s.Snapshot.Policy
	if policy == nil {
		return
	}
	for _, t := range []v1alpha1.UpgradeType{v1alpha1.TypePatch, v1alpha1.TypeReboot} {
		s.flag(policyAutomatic, slices.ContainsFunc(policy.Spec.Automatic, func(a v1alpha1.AutomaticUpgrade) bool { return a.Type == t }), string(t))
	}
	conditions := policy.Status.Conditions
	s.flag(policyValid, !meta.IsStatusConditionFalse(conditions, v1alpha1.ConditionValid))
	s.flag(writesFailed, meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionWriteFailed))
	if ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionSourceReady); ready != nil && ready.Status == metav1.ConditionFalse {
		s.at(sourceProblem, &ready.LastTransitionTime.Time, ready.Reason)
	}
}

func (s *scrape) slots() {
	counts := map[string]int{"Free": 0, "Reserved": 0, "Held": 0}
	for i := range s.Snapshot.Slots {
		slot := &s.Snapshot.Slots[i]
		state, node := slotState(slot)
		counts[state]++
		if state != "Free" {
			s.set(slotInfo, 1, slot.Name, node, state)
		}
	}
	for state, count := range counts {
		s.set(slots, float64(count), state)
	}
}

func slotState(slot *fleet.Slot) (state, node string) {
	switch {
	case slot.Free():
		return "Free", ""
	case slot.Holder != fleet.Owner{}:
		return "Held", slot.Holder.Node
	case slot.Unreadable:
		return "Held", ""
	}
	return "Reserved", slot.ReservedFor.Node
}

// findings adds what the last checks of the active upgrade found.
func (s *scrape) findings() {
	type kind struct{ check, level string }
	counts := map[kind]int{}
	for _, f := range s.Plan.Findings {
		level := string(f.Level)
		if f.Ignored {
			level = "Ignored"
		}
		counts[kind{f.ID, level}]++
	}
	for k, count := range counts {
		s.set(preflightFinding, float64(count), k.check, k.level)
	}
	for _, u := range s.unfinished() {
		if u.Name == s.Plan.Upgrade && u.Status.PreflightTime != nil {
			s.at(preflightTime, &u.Status.PreflightTime.Time)
		}
	}
}
