package schedule

import (
	"slices"
	"time"

	"github.com/teambition/rrule-go"
)

// setPositions chooses with BYSETPOS from the days of each month or year, and counts
// those from begin on. rrule-go does the same, but goes through all days again
// for each position.
func (r rule) setPositions(next func() (time.Time, bool), begin time.Time) func() (time.Time, bool) {
	var chosen []time.Time
	given := 0
	ahead, more := next()
	return func() (time.Time, bool) {
		for len(chosen) == 0 {
			if !more {
				return time.Time{}, false
			}
			set := []time.Time{ahead}
			for ahead, more = next(); more && r.sameSet(set[0], ahead); ahead, more = next() {
				set = append(set, ahead)
			}
			chosen = r.choose(set, begin)
		}
		first := chosen[0]
		chosen = chosen[1:]
		given++
		return first, r.option.Count == 0 || given <= r.option.Count
	}
}

// sameSet reports whether two days are in the same month or year.
func (r rule) sameSet(a, b time.Time) bool {
	return a.Year() == b.Year() && (r.option.Freq == rrule.YEARLY || a.Month() == b.Month())
}

func (r rule) choose(set []time.Time, begin time.Time) []time.Time {
	var chosen []time.Time
	for i, w := range set {
		place, fromEnd := i+1, i-len(set)
		if !w.Before(begin) && (slices.Contains(r.option.Bysetpos, place) || slices.Contains(r.option.Bysetpos, fromEnd)) {
			chosen = append(chosen, w)
		}
	}
	return chosen
}
