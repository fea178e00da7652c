package schedule

import "time"

// clockSlack is longer than any change of a clock: Apia skipped a whole day.
const clockSlack = 26 * time.Hour

// maxTime is later than any time that callers ask about.
var maxTime = time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)

// clock resolves wall-clock times of a zone. It caches the span without a transition
// around the last one, because the next is mostly in it too.
type clock struct {
	in     *time.Location
	steady span          // no transition within clockSlack of it
	offset time.Duration // then
}

// instants is the function instants with a cache.
func (c *clock) instants(w time.Time) (first, last time.Time, gap bool) {
	if at := w.Add(-c.offset); c.steady.covers(at) {
		return at, at, false
	}
	first, last, gap = instants(w, c.in)
	here := first.In(c.in)
	begin, end := here.ZoneBounds()
	if end.IsZero() {
		end = maxTime
	}
	c.steady = span{begin.Add(clockSlack).UTC(), end.Add(-clockSlack).UTC()}
	c.offset = time.Duration(offset(here)) * time.Second
	return first, last, gap
}
