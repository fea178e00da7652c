package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// The API bounds each schedule, and a cluster may have any number of them. Every plan evaluates
// all, so their sum is bounded as well: maxCost windows and exclusions, of which some count
// heavyCost times, because their rules have to be counted through.
const (
	maxCost   = 1024
	heavyCost = 16
	// longPeriod is the length from which on an occurrence covers so many of the next ones that
	// all of them have to be made.
	longPeriod = 31 * 24 * time.Hour
)

// Excess returns the schedules that are over the limit of the cluster, by their names, and
// what to do about each: the youngest ones. They are not evaluated, and as an invalid schedule
// they close the windows of all.
func Excess(schedules []v1alpha1.MaintenanceSchedule) map[string]error {
	var over map[string]error
	total := 0
	for _, s := range schedules {
		total += cost(&s)
	}
	if total <= maxCost {
		return nil
	}
	byAge := make([]*v1alpha1.MaintenanceSchedule, len(schedules))
	for i := range schedules {
		byAge[i] = &schedules[i]
	}
	slices.SortFunc(byAge, older)
	sum := 0
	for _, s := range byAge {
		if sum += cost(s); sum <= maxCost {
			continue
		}
		if over == nil {
			over = map[string]error{}
		}
		over[s.Name] = fmt.Errorf("schedule %s: all schedules of the cluster have windows and exclusions of %d together, and at most %d are evaluated (one with COUNT, BYSETPOS or recurring occurrences of more than a month counts as %d); delete schedules, or join their windows",
			s.Name, total, maxCost, heavyCost)
	}
	return over
}

// firstExcess returns the oldest schedule that is over the limit.
func firstExcess(schedules []v1alpha1.MaintenanceSchedule, over map[string]error) string {
	var first *v1alpha1.MaintenanceSchedule
	for i := range schedules {
		if s := &schedules[i]; over[s.Name] != nil && (first == nil || older(s, first) < 0) {
			first = s
		}
	}
	return first.Name
}

// older compares schedules by age, and by name where that is the same.
func older(a, b *v1alpha1.MaintenanceSchedule) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

// cost returns how many plain windows the schedule counts as.
func cost(s *v1alpha1.MaintenanceSchedule) int {
	total := 1
	for _, w := range s.Spec.MaintenanceWindows {
		total += periodCost(w.Period)
	}
	for _, x := range s.Spec.MaintenanceExclusions {
		total += periodCost(x.Period)
	}
	return total
}

func periodCost(p v1alpha1.Period) int {
	rule := strings.ToUpper(p.Recurrence)
	if rule != "" && (strings.Contains(rule, "COUNT=") || strings.Contains(rule, "BYSETPOS=") || p.EndTime.Sub(p.StartTime.Time) > longPeriod) {
		return heavyCost
	}
	return 1
}
