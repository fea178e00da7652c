package schedule

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// series has the occurrences of one period from now to the Horizon, in order. They are
// computed on demand; those that overlap or touch are merged, and those without length
// are omitted.
type series struct {
	now   time.Time
	next  func() (span, bool) // nil: there are no more
	made  time.Time           // spans has every occurrence that starts before it
	spans []span
}

// newSeries expands p from now on. exclusion selects the rule for its ends.
func newSeries(p v1alpha1.Period, in *time.Location, exclusion bool, now time.Time) (*series, error) {
	written := span{p.StartTime.Time.UTC(), p.EndTime.Time.UTC()}
	if p.Recurrence == "" {
		s := &series{now: now}
		s.add(written)
		return s, nil
	}
	r, err := parseRule(p.Recurrence)
	if err != nil {
		return nil, err
	}
	o := newOccurrence(written, in, exclusion)
	next, err := r.occurrences(o, now)
	return &series{now: now, next: next}, err
}

func (s *series) add(one span) {
	if !one.end.After(s.now) || !one.end.After(one.start) {
		return
	}
	if last := len(s.spans) - 1; last >= 0 && !one.start.After(s.spans[last].end) {
		s.spans[last].end = later(s.spans[last].end, one.end)
		return
	}
	s.spans = append(s.spans, one)
}

// until returns the spans that start before edge. Their ends are final up to edge.
func (s *series) until(edge time.Time) []span {
	for s.next != nil && s.made.Before(edge) {
		one, more := s.next()
		if !more {
			s.next = nil
			break
		}
		s.made = one.start
		s.add(one)
	}
	before, _ := slices.BinarySearchFunc(s.spans, edge, func(one span, edge time.Time) int { return one.start.Compare(edge) })
	return s.spans[:before]
}

// meets reports whether the period covers a part of one. The spans are disjoint and in
// order, so only the last that starts before the end of one can be the latest to end.
func (s *series) meets(one span) bool {
	spans := s.until(one.end)
	return len(spans) > 0 && spans[len(spans)-1].end.After(one.start)
}
