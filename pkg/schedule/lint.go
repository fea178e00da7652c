package schedule

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// NodeTime is the time that one node may need at the default limits: fifteen minutes to
// drain, and five to reboot, start and settle.
const NodeTime = 20 * time.Minute

// Finding is a part of a schedule that is valid but probably a mistake.
type Finding struct {
	// Schedule is the name of the schedule.
	Schedule string
	// Field is the path below spec, such as maintenanceWindows[0].recurrence.
	Field string
	// Message is one sentence on what happens and how to write what was probably meant.
	Message string
}

// Lint returns what is valid in a schedule but probably a mistake, from now on: a monthly
// rule that skips months, a window that never opens, is over, or that a change of the clock
// skips, a startTime that its own rule misses, a window that occurs again before it closes,
// one too short for a single node, and exclusions that leave too little open. It returns
// nothing for a schedule that Check rejects.
func Lint(s v1alpha1.MaintenanceSchedule, now time.Time) []Finding {
	c, err := compile(&s, now)
	if err != nil {
		return nil
	}
	l := &linter{schedule: s.Name, compiled: c, now: now}
	for i, w := range s.Spec.MaintenanceWindows {
		l.window(fmt.Sprintf("maintenanceWindows[%d]", i), w.Period, c.windows[i])
	}
	for i, x := range s.Spec.MaintenanceExclusions {
		l.monthEnds(fmt.Sprintf("maintenanceExclusions[%d]", i), x.Period, c.exclusions[i])
	}
	l.openTime()
	return l.findings
}

// linter collects findings about one schedule.
type linter struct {
	compiled
	schedule string
	now      time.Time
	findings []Finding
}

func (l *linter) find(field, message string, args ...any) {
	l.findings = append(l.findings, Finding{l.schedule, field, fmt.Sprintf(message, args...)})
}

func (l *linter) window(field string, p v1alpha1.Period, e entry) {
	if neverOpens(p, e.zone) {
		l.find(field, "window %s never opens: no day within nine years fits %s", e.name, p.Recurrence)
		return
	}
	l.startsLater(field, p, e)
	l.overlaps(field, p, e)
	l.monthEnds(field, p, e)
	l.clockChanges(field, p, e)
	if l.over(field, p, e) {
		return
	}
	l.tooShort(field, p, e)
	l.alwaysExcluded(field, e)
}
