package plan

import "time"

// wakeAt remembers an instant at which somebody may have another answer, if it
// is after now and the first of them.
func (d *decider) wakeAt(t *time.Time) {
	if t != nil && t.After(d.now) && (d.wake == nil || t.Before(*d.wake)) {
		d.wake = t
	}
}

// next is the earliest instant after now at which somebody may have another
// answer.
func (d *decider) next(nodes []NodePlan) *time.Time {
	for i := range nodes {
		d.wakeAt(nodes[i].Until)
	}
	if d.checks.blocks && d.wholly.Reason == "" {
		again := d.checks.report.At.Add(recheckAfter)
		d.wakeAt(&again)
	}
	return d.wake
}
