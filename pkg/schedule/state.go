package schedule

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// The states of a schedule, as in its status.
const (
	StateOpen     = "Open"
	StateClosed   = "Closed"
	StateExcluded = "Excluded"
)

// State returns the state of the schedule alone, and when that changes, if that is
// known. Every exclusion counts, whatever it excludes. An invalid schedule is Closed;
// see Check.
func State(s *v1alpha1.MaintenanceSchedule, now time.Time) (string, *time.Time) {
	c, err := compile(s, now)
	if err != nil {
		return StateClosed, nil
	}
	verdict := decide(c.windows, c.exclusions, true, now)
	switch {
	case verdict.Open:
		return StateOpen, verdict.Until
	case verdict.Reason == v1alpha1.ReasonExcluded:
		return StateExcluded, verdict.Until
	}
	return StateClosed, verdict.Until
}
