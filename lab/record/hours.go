package record

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// grace is what may lie between an agent's look at the schedules and the news of
// what it began then.
const grace = 2 * time.Second

// OutOfHours checks design.md's promise 2 at every beginning: a window is open
// and no exclusion holds, by the schedules of that very moment, or it was so
// just before. A reboot needs a last check that was passed, and not the window:
// who passed it finishes. The power of nodes in struck was cut by the test,
// so that their boots say nothing.
//
// It reads schedules in its own way, and only such as the lab writes: the
// product's reading shall not be checked by itself.
func OutOfHours(moments []Moment, struck ...string) ([]string, error) {
	begun, err := Beginnings(moments)
	if err != nil {
		return nil, err
	}
	known, err := editions(moments)
	if err != nil {
		return nil, err
	}
	var broken []string
	passed := map[string]bool{}
	for _, b := range begun {
		if b.What == Reboot {
			if !passed[b.Node] && !slices.Contains(struck, b.Node) {
				broken = append(broken, fmt.Sprintf("revision %d: %s was rebooted without having passed its last check", b.Revision, b.Node))
			}
			passed[b.Node] = false
			continue
		}
		passed[b.Node] = b.What == Flip
		now, err := closed(known.at(b.Revision), b.Seen)
		if err != nil {
			return nil, err
		}
		before, err := closed(known.seenBy(b.Seen.Add(-grace)), b.Seen.Add(-grace))
		if err != nil {
			return nil, err
		}
		if now != "" && before != "" {
			broken = append(broken, fmt.Sprintf("revision %d: %s of %s began at %s: %s", b.Revision, b.What, b.Node, b.Seen.UTC().Format(time.TimeOnly), now))
		}
	}
	return broken, nil
}

// edition is the schedules as they were from a moment on.
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
