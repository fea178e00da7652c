package migrate

import (
	"slices"
	"time"
)

// Span is a time from Start (in) to End (out).
type Span struct{ Start, End time.Time }

// Window is when another program may reboot a node.
type Window interface {
	// Contains reports whether the program may begin with a node at t.
	Contains(t time.Time) bool
	// Openings returns when it may, between from and until, in order.
	Openings(from, until time.Time) []Span
}

// moment is the precision of the other programs: a window that ends at 17:00 ends within
// that second.
const moment = time.Second

// join merges spans that overlap or touch, cut to from and until.
func join(spans []Span, from, until time.Time) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return a.Start.Compare(b.Start) })
	var joined []Span
	for _, s := range spans {
		if s.Start.Before(from) {
			s.Start = from
		}
		if s.End.After(until) {
			s.End = until
		}
		last := len(joined) - 1
		switch {
		case !s.Start.Before(s.End):
		case last >= 0 && !s.Start.After(joined[last].End):
			if s.End.After(joined[last].End) {
				joined[last].End = s.End
			}
		default:
			joined = append(joined, s)
		}
	}
	return joined
}

// Pair is what two programs do around the same time.
type Pair struct{ Theirs, Ours []Span }

// Differs reports whether one is open for more than a moment when the other is not.
func (p Pair) Differs() bool {
	return !slices.EqualFunc(p.Theirs, p.Ours, func(a, b Span) bool {
		return a.Start.Sub(b.Start).Abs() <= moment && a.End.Sub(b.End).Abs() <= moment
	})
}

// around returns the time from the first start to the last end.
func (p Pair) around() Span {
	all := slices.Concat(p.Theirs, p.Ours)
	return Span{
		slices.MinFunc(all, func(a, b Span) int { return a.Start.Compare(b.Start) }).Start,
		slices.MaxFunc(all, func(a, b Span) int { return a.End.Compare(b.End) }).End,
	}
}

// Compare puts the openings of both side by side: those that overlap or touch are one pair.
// Openings of a moment are left out.
func Compare(theirs, ours []Span) []Pair {
	short := func(s Span) bool { return s.End.Sub(s.Start) <= moment }
	theirs = slices.DeleteFunc(slices.Clone(theirs), short)
	ours = slices.DeleteFunc(slices.Clone(ours), short)
	all := slices.Concat(theirs, ours)
	if len(all) == 0 {
		return nil
	}
	whole := Pair{theirs, ours}.around()
	var pairs []Pair
	for _, around := range join(all, whole.Start, whole.End) {
		within := func(spans []Span) (found []Span) {
			for _, s := range spans {
				if s.Start.Before(around.End) && around.Start.Before(s.End) {
					found = append(found, s)
				}
			}
			return found
		}
		pairs = append(pairs, Pair{within(theirs), within(ours)})
	}
	return pairs
}
