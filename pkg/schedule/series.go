package schedule

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// series is the occurrences of one period that end after now, in order of
// their starts, made as they are asked for. One that has no length is left
// out.
type series struct {
	now   time.Time
	next  func() (span, bool) // nil: there are no more
	spans []span
}

// newSeries expands p from now on. exclusion says by which rule its ends are
// resolved.
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
	starts, err := r.starts(o.begin, wall(now, in).Add(-o.longest()))
	if err != nil {
		return nil, err
	}
	next := func() (span, bool) {
		w, more := starts()
		if !more {
			return span{}, false
		}
		one := o.at(w)
		return one, r.until.IsZero() || !one.start.After(r.until)
	}
	return &series{now: now, next: next}, nil
}

func (s *series) add(one span) {
	if one.end.After(s.now) && one.end.After(one.start) {
		s.spans = append(s.spans, one)
	}
}

// until is the occurrences that start before edge.
func (s *series) until(edge time.Time) []span {
	for s.next != nil && (len(s.spans) == 0 || s.spans[len(s.spans)-1].start.Before(edge)) {
		one, more := s.next()
		if !more {
			s.next = nil
			break
		}
		s.add(one)
	}
	for i := len(s.spans); i > 0; i-- {
		if s.spans[i-1].start.Before(edge) {
			return s.spans[:i]
		}
	}
	return nil
}
