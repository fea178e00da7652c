package schedule

import "time"

// maxSteps ends a search over windows and exclusions that follow each other
// without end.
const maxSteps = 1000

// covering is the entry that covers t and ends last.
func covering(list []entry, t time.Time) (by entry, end time.Time, ok bool) {
	for _, e := range list {
		if until, covers := e.series.covers(t); covers && (!ok || until.After(end)) {
			by, end, ok = e, until, true
		}
	}
	return by, end, ok
}

// chainEnd is when no entry covers any more, from t on, which one covers. Nil:
// not within the horizon.
func chainEnd(list []entry, t time.Time) *time.Time {
	for range maxSteps {
		_, end, ok := covering(list, t)
		if !ok {
			return &t
		}
		t = end
	}
	return nil
}

// firstStart is the next start of any entry after t.
func firstStart(list []entry, t time.Time) *time.Time {
	start, ok := starting(list, t)
	if !ok {
		return nil
	}
	return &start
}

func starting(list []entry, t time.Time) (start time.Time, ok bool) {
	for _, e := range list {
		if at, comes := e.series.after(t); comes && (!ok || at.Before(start)) {
			start, ok = at, true
		}
	}
	return start, ok
}

// opening is the first instant from t on at which a window is open and no
// exclusion holds.
func opening(windows, exclusions []entry, t time.Time) (by entry, start time.Time, ok bool) {
	for range maxSteps {
		if _, end, holds := covering(exclusions, t); holds {
			t = end
			continue
		}
		if window, _, open := covering(windows, t); open {
			return window, t, true
		}
		next, comes := starting(windows, t)
		if !comes {
			break
		}
		t = next
	}
	return entry{}, time.Time{}, false
}
