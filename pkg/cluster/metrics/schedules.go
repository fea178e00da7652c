package metrics

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// maxSchedules is how many schedules have series, by name.
const maxSchedules = 200

var (
	types  = []v1alpha1.UpgradeType{v1alpha1.TypePatch, v1alpha1.TypeMinor, v1alpha1.TypeReboot}
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
