package plan

import "time"

// next is the earliest instant after now at which somebody may have another
// answer.
func (d *decider) next(nodes []NodePlan) *time.Time {
	var first *time.Time
	consider := func(t time.Time) {
		if t.After(d.now) && (first == nil || t.Before(*first)) {
			first = &t
		}
	}
	for _, t := range d.wake {
		consider(t)
	}
	for _, n := range nodes {
		if n.Until != nil {
			consider(*n.Until)
		}
	}
	return first
}
