package schedule

import (
	"slices"
	"time"
)

// span is the time from start, inclusive, to end, exclusive.
type span struct{ start, end time.Time }

func (s span) covers(t time.Time) bool { return !s.start.After(t) && s.end.After(t) }

func (s span) meets(other span) bool { return s.start.Before(other.end) && other.start.Before(s.end) }

func (s span) length() time.Duration { return s.end.Sub(s.start) }

// union merges spans that overlap or touch. The result is in order.
func union(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.start.Compare(b.start) })
	var merged []span
	for _, s := range spans {
		if last := len(merged) - 1; last >= 0 && !s.start.After(merged[last].end) {
			merged[last].end = later(merged[last].end, s.end)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// subtract returns the parts of the spans that no cut covers. Both are unions.
func subtract(spans, cuts []span) []span {
	var rest []span
	for _, s := range spans {
		for len(cuts) > 0 && !cuts[0].end.After(s.start) {
			cuts = cuts[1:]
		}
		for _, cut := range cuts {
			if !cut.start.Before(s.end) {
				break
			}
			if s.start.Before(cut.start) {
				rest = append(rest, span{s.start, cut.start})
			}
			s.start = cut.end
		}
		if s.start.Before(s.end) {
			rest = append(rest, s)
		}
	}
	return rest
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
