package record

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// closed returns why no upgrade of the type may begin at t, or the empty string. All exclusions hold one whose type is
// not known.
func closed(schedules map[string]v1alpha1.MaintenanceSchedule, of v1alpha1.UpgradeType, t time.Time) (why string, err error) {
	why = "no window is open"
	for name, schedule := range schedules {
		if schedule.Spec.NodeSelector != nil {
			return "", fmt.Errorf("schedule %s: nodeSelector is not understood here", name)
		}
		for _, window := range schedule.Spec.MaintenanceWindows {
			holds, err := covers(window.Period, t)
			if err != nil {
				return "", fmt.Errorf("window %s/%s: %w", name, window.Name, err)
			}
			if holds {
				why = ""
			}
		}
	}
	for name, schedule := range schedules {
		for _, exclusion := range schedule.Spec.MaintenanceExclusions {
			if len(exclusion.UpgradeTypes) > 0 && of != "" && !slices.Contains(exclusion.UpgradeTypes, of) {
				continue
			}
			holds, err := covers(exclusion.Period, t)
			if err != nil {
				return "", fmt.Errorf("exclusion %s/%s: %w", name, exclusion.Name, err)
			}
			if holds {
				return fmt.Sprintf("exclusion %s/%s holds", name, exclusion.Name), nil
			}
		}
	}
	return why, nil
}

// covers reports whether t lies in a period: once, or daily in UTC.
func covers(p v1alpha1.Period, t time.Time) (bool, error) {
	since, lasts := t.Sub(p.StartTime.Time), p.EndTime.Sub(p.StartTime.Time)
	switch p.Recurrence {
	case "":
		return since >= 0 && since < lasts, nil
	case "FREQ=DAILY":
		return since >= 0 && since%(24*time.Hour) < lasts, nil
	}
	return false, fmt.Errorf("recurrence %q is not understood here", p.Recurrence)
}
