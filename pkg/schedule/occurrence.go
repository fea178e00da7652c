package schedule

import (
	"math"
	"time"
)

// occurrence turns a wall-clock start into instants.
type occurrence struct {
	starts    clock
	ends      clock // apart, as what it remembers is of another time
	exclusion bool
	written   span          // the first, as it is written
	begin     time.Time     // what the clock shows at its start
	wallLasts time.Duration // what the clock has moved on by its end
}

func newOccurrence(written span, in *time.Location, exclusion bool) *occurrence {
	begin := wall(written.start, in)
	return &occurrence{clock{in: in}, clock{in: in}, exclusion, written, begin, wall(written.end, in).Sub(begin)}
}

// longest is more than any occurrence lasts on the wall clock, up to what a
// Duration can hold: 292 years.
func (o *occurrence) longest() time.Duration {
	const slack = 2 * clockSlack
	return min(max(o.written.lasts(), o.wallLasts), math.MaxInt64-slack) + slack
}

// at resolves the occurrence that starts when the clock shows w. A window may
// come out without any length; it is then closed that night.
func (o *occurrence) at(w time.Time) span {
	if w.Equal(o.begin) {
		return o.written
	}
	start, moved, gap := o.starts.instants(w)
	if gap {
		start = moved
	}
	elapsed := start.Add(o.written.lasts())
	first, last, _ := o.ends.instants(w.Add(o.wallLasts))
	if o.exclusion {
		return span{start, later(elapsed, last)}
	}
	return span{start, earlier(elapsed, first)}
}
