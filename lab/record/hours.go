package record

import (
	"maps"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// grace is the longest time between an agent's read of the schedules and the record
// of what it began then.
const grace = 2 * time.Second

// OutOfHours checks docs/architecture.md's promise 2 at every beginning: a window is open
// and no exclusion is in effect, by the schedules of that moment or of shortly
// before. A reboot does not need a window, but a last check that was passed, as
// the node then finishes. Boots of nodes in struck do not count: the test cut their
// power.
//
// It has its own reading of schedules, limited to those that the lab writes, so
// that the product's reading is not checked by itself.
func OutOfHours(moments []Moment, struck ...string) ([]Broken, error) {
	begun, err := Beginnings(moments)
	if err != nil {
		return nil, err
	}
	known, err := editions(moments)
	if err != nil {
		return nil, err
	}
	var broken []Broken
	passed := map[string]bool{}
	for _, b := range begun {
		if b.What == Reboot {
			if !passed[b.Node] && !slices.Contains(struck, b.Node) {
				broken = append(broken, b.broken("%s was rebooted without having passed its last check", b.Node))
			}
			passed[b.Node] = false
			continue
		}
		passed[b.Node] = b.What == Flip
		now, err := closed(known.at(b.Revision), b.Type, b.Seen)
		if err != nil {
			return nil, err
		}
		before, err := closed(known.seenBy(b.Seen.Add(-grace)), b.Type, b.Seen.Add(-grace))
		if err != nil {
			return nil, err
		}
		if now != "" && before != "" {
			broken = append(broken, b.broken("%s of %s began at %s: %s", b.What, b.Node, b.Seen.UTC().Format(time.TimeOnly), now))
		}
	}
	return broken, nil
}

// edition is the schedules from one moment until the next change.
type edition struct {
	revision  int64
	seen      time.Time
	schedules map[string]v1alpha1.MaintenanceSchedule
}

type history []edition

func editions(moments []Moment) (history, error) {
	var h history
	err := Walk(moments, func(m Moment, s State) {
		if m.Resource == v1alpha1.MaintenanceSchedules.Resource {
			h = append(h, edition{m.Revision, m.Seen, maps.Clone(s.Schedules)})
		}
	})
	return h, err
}

func (h history) at(revision int64) map[string]v1alpha1.MaintenanceSchedule {
	return h.last(func(e edition) bool { return e.revision <= revision })
}

func (h history) seenBy(t time.Time) map[string]v1alpha1.MaintenanceSchedule {
	return h.last(func(e edition) bool { return !e.seen.After(t) })
}

func (h history) last(is func(edition) bool) map[string]v1alpha1.MaintenanceSchedule {
	for _, e := range slices.Backward(h) {
		if is(e) {
			return e.schedules
		}
	}
	return nil
}
