package metrics

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

const (
	// maxUnfinished is how many upgrades that have not ended have series, the oldest
	// first: of more, each waits for those.
	maxUnfinished = 32
	// maxWindows is up to how many windows that passed are counted.
	maxWindows = 10
)

func (s *scrape) upgrades() {
	for _, u := range s.unfinished() {
		reason, _ := u.Status.Explain()
		s.set(upgradeInfo, 1, u.Name, string(rules.TypeOf(&u)), s.version(u.Status.FromVersion), u.Spec.Version, string(reason))
		s.at(upgradeCreated, &u.CreationTimestamp.Time, u.Name)
		if u.Status.TriggerTime != nil {
			s.at(upgradeTriggered, &u.Status.TriggerTime.Time, u.Name)
			for _, image := range u.Status.Images {
				s.set(upgradeImage, 1, u.Name, u.Spec.Version, string(image.Architecture), string(image.Digest))
			}
		}
		s.flag(upgradeStalled, u.Status.Stalled(), u.Name)
		counts := u.Status.Nodes
		for state, count := range map[string]int32{
			"Done": counts.Done, "Active": counts.Active, "Waiting": counts.Waiting, "Blocked": counts.Blocked, "Unsupported": counts.Unsupported,
		} {
			s.set(upgradeNodes, float64(count), u.Name, state)
		}
		if u.Name == s.Plan.Upgrade {
			s.set(upgradeWindows, float64(s.windowsPassed(&u)), u.Name)
		}
	}
	s.completions()
}

// unfinished returns the upgrades that have not ended, each with the status that was
// planned for it.
func (s *scrape) unfinished() []v1alpha1.ClusterUpgrade {
	planned := map[string]*v1alpha1.ClusterUpgradeStatus{}
	for i := range s.Plan.Statuses {
		planned[s.Plan.Statuses[i].UID] = &s.Plan.Statuses[i].Status
	}
	var list []v1alpha1.ClusterUpgrade
	for _, u := range s.Snapshot.Upgrades {
		if status := planned[string(u.UID)]; status != nil {
			u.Status = *status
		}
		if u.Status.Outcome == "" {
			list = append(list, u)
		}
	}
	slices.SortFunc(list, func(a, b v1alpha1.ClusterUpgrade) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return list[:min(len(list), maxUnfinished)]
}

// windowsPassed returns how many windows have opened and closed for the first waiting node
// since the upgrade was created.
func (s *scrape) windowsPassed(u *v1alpha1.ClusterUpgrade) int {
	for n := range s.managed {
		if n.plan.Decision != plan.Wait {
			continue
		}
		openings, err := schedule.Next(s.Snapshot.Schedules, n.Labels, rules.TypeOf(u), u.CreationTimestamp.Time, maxWindows)
		if err != nil {
			return 0
		}
		return len(slices.DeleteFunc(openings, func(o schedule.Opening) bool { return o.End.IsZero() || o.End.After(s.now) }))
	}
	return 0
}

// completions adds when upgrades last ended, from their records.
func (s *scrape) completions() {
	type kind struct{ upgrade, outcome string }
	last := map[kind]time.Time{}
	for i := range s.Snapshot.Records {
		r := &s.Snapshot.Records[i]
		k := kind{string(r.Spec.Type), string(r.Spec.Outcome)}
		if r.Spec.EndTime.After(last[k]) {
			last[k] = r.Spec.EndTime.Time
		}
	}
	for k, at := range last {
		s.at(lastCompletion, &at, k.upgrade, k.outcome)
	}
}

// maxSchedules is how many schedules have series, by name.
const maxSchedules = 200

var (
	types  = v1alpha1.UpgradeTypes
	states = []string{schedule.StateOpen, schedule.StateClosed, schedule.StateExcluded}
)

func (s *scrape) schedules() {
	list, over := s.Snapshot.Schedules, schedule.Excess(s.Snapshot.Schedules)
	for i := range list[:min(len(list), maxSchedules)] {
		one := &list[i]
		now, until, valid := schedule.StateClosed, (*time.Time)(nil), false
		if over[one.Name] == nil {
			now, until = schedule.State(one, s.now)
			valid = schedule.Check(one) == nil
		}
		for _, state := range states {
			s.flag(scheduleState, state == now, one.Name, state)
		}
		s.at(scheduleChange, until, one.Name)
		s.flag(scheduleValid, valid, one.Name)
	}
	s.windows()
}

// windows adds for how many nodes windows are open.
func (s *scrape) windows() {
	moment := schedule.NewMoment(s.Snapshot.Schedules, s.now)
	for _, t := range types {
		counts := map[string]int{"Open": 0, "Closed": 0, "Excluded": 0, "Never": 0, "Invalid": 0}
		var next *time.Time
		for n := range s.managed {
			verdict := moment.At(n.Labels, t)
			counts[windowState(verdict)]++
			if until := verdict.Until; until != nil && (next == nil || until.Before(*next)) {
				next = until
			}
		}
		for state, count := range counts {
			s.set(nodesWindow, float64(count), string(t), state)
		}
		s.at(windowChange, next, string(t))
	}
}

func windowState(v schedule.Verdict) string {
	switch {
	case v.Open:
		return "Open"
	case v.Reason == v1alpha1.ReasonExcluded:
		return "Excluded"
	case v.Reason == v1alpha1.ReasonScheduleInvalid:
		return "Invalid"
	case v.Until == nil:
		return "Never"
	}
	return "Closed"
}

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
	for _, t := range []v1alpha1.UpgradeType{v1alpha1.TypePatch, v1alpha1.TypeReboot, v1alpha1.TypeCertificates} {
		s.flag(policyAutomatic, slices.ContainsFunc(policy.Spec.Automatic, func(a v1alpha1.AutomaticUpgrade) bool { return a.Type == t }), string(t))
	}
	s.gates(policy)
	s.soak(policy)
	conditions := policy.Status.Conditions
	s.flag(policyValid, !meta.IsStatusConditionFalse(conditions, v1alpha1.ConditionValid))
	s.flag(writesFailed, meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionWriteFailed))
	s.flag(noticesFailed, meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionNoticesFailed))
	s.flag(silencesFailed, meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionSilencesFailed))
	if ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionSourceReady); ready != nil && ready.Status == metav1.ConditionFalse {
		s.at(sourceProblem, &ready.LastTransitionTime.Time, ready.Reason)
	}
}

// gates adds the last answer of each gate that is asked. A policy has 16 gates at most.
func (s *scrape) gates(policy *v1alpha1.UpgradePolicy) {
	for i := range s.Plan.AskGates {
		name, now := s.Plan.AskGates[i].Name, v1alpha1.GateUnknown
		if answer := policy.GateStatus(name); answer != nil {
			now = answer.State
		}
		for _, state := range []v1alpha1.GateState{v1alpha1.GateOpen, v1alpha1.GateClosed, v1alpha1.GateUnknown} {
			s.flag(gateState, state == now, name, string(state))
		}
	}
}

// soak adds how long the cluster has run each version, for clusters that follow it by their
// Prometheus. A policy has eight versions at most, each with one image for each architecture.
func (s *scrape) soak(policy *v1alpha1.UpgradePolicy) {
	for _, ran := range policy.Status.Ran {
		if ran.SinceTime == nil || ran.Problem != "" || ran.Blocked != "" || ran.Behind > 0 {
			continue
		}
		until := s.now
		if ran.UntilTime != nil {
			until = ran.UntilTime.Time
		}
		for _, image := range ran.Digests {
			s.set(imageSoak, until.Sub(ran.SinceTime.Time).Seconds(), ran.Version, string(image.Architecture), string(image.Digest))
		}
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

func slotState(slot *clusterstate.Slot) (state, node string) {
	switch {
	case slot.Free():
		return "Free", ""
	case slot.Holder != clusterstate.Owner{}:
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
