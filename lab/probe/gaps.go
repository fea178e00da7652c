package probe

import (
	"slices"
	"time"
)

// Gap is a time in which nothing that was asked was answered.
type Gap struct {
	From, To time.Time
}

// Length of the gap.
func (g Gap) Length() time.Duration { return g.To.Sub(g.From) }

// Longest is the longest time without an answer: from the first question in a
// row that failed to the first one after it that did not.
func Longest(answers []Answer) Gap {
	var longest, now Gap
	for _, a := range answers {
		switch {
		case a.Err == nil && now.From.IsZero():
			continue
		case a.Err == nil:
			now.To = a.Asked
		case now.From.IsZero():
			now = Gap{From: a.Asked, To: a.Ended}
		default:
			now.To = a.Ended
		}
		if now.Length() > longest.Length() {
			longest = now
		}
		if a.Err == nil {
			now = Gap{}
		}
	}
	return longest
}

// Fewest is the smallest number of probes that answered at one time, and when
// that was: a probe does not answer from its first question in a row that failed
// until the first one after it that did not.
func Fewest(probes ...[]Answer) (int, time.Time) {
	type edge struct {
		at   time.Time
		away int
	}
	var edges []edge
	for _, answers := range probes {
		var since time.Time
		for _, a := range answers {
			switch {
			case a.Err != nil && since.IsZero():
				since = a.Asked
				edges = append(edges, edge{since, 1})
			case a.Err == nil && !since.IsZero():
				edges = append(edges, edge{a.Asked, -1})
				since = time.Time{}
			}
		}
	}
	// Who comes back at an instant is back before another goes.
	slices.SortFunc(edges, func(a, b edge) int {
		if order := a.at.Compare(b.at); order != 0 {
			return order
		}
		return a.away - b.away
	})
	fewest, when, away := len(probes), time.Time{}, 0
	for _, e := range edges {
		away += e.away
		if len(probes)-away < fewest {
			fewest, when = len(probes)-away, e.at
		}
	}
	return fewest, when
}
