package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
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
		s.set(upgradeInfo, 1, u.Name, string(plan.TypeOf(&u)), s.version(u.Status.FromVersion), u.Spec.Version, string(reason))
		s.at(upgradeCreated, &u.CreationTimestamp.Time, u.Name)
		if u.Status.TriggerTime != nil {
			s.at(upgradeTriggered, &u.Status.TriggerTime.Time, u.Name)
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
		openings, err := schedule.Next(s.Snapshot.Schedules, n.Labels, plan.TypeOf(u), u.CreationTimestamp.Time, maxWindows)
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
		k := kind{string(r.Type), string(r.Outcome)}
		if r.CompletionTime.After(last[k]) {
			last[k] = r.CompletionTime.Time
		}
	}
	for k, at := range last {
		s.at(lastCompletion, &at, k.upgrade, k.outcome)
	}
}
