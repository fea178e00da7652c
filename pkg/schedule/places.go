package schedule

import (
	"slices"
	"time"

	"github.com/teambition/rrule-go"
)

// places chooses with BYSETPOS from the days of each month or year, and counts
// those from begin on. rrule-go does the same, but goes through all days anew
// for each place.
func (r rule) places(next func() (time.Time, bool), begin time.Time) func() (time.Time, bool) {
	var chosen []time.Time
	given := 0
	ahead, more := next()
	return func() (time.Time, bool) {
		for len(chosen) == 0 {
			if !more {
				return time.Time{}, false
			}
			set := []time.Time{ahead}
			for ahead, more = next(); more && r.together(set[0], ahead); ahead, more = next() {
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

// together reports whether two days are of one set.
func (r rule) together(a, b time.Time) bool {
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
