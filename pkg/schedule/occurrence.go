package schedule

import (
	"math"
	"time"
)

// occurrence turns a wall-clock start into instants.
type occurrence struct {
	starts    clock
	ends      clock // its own cache, as ends are at other times than starts
	exclusion bool
	written   span          // the first occurrence, as written
	begin     time.Time     // what the clock shows at its start
	wallLasts time.Duration // its length on the wall clock
}

func newOccurrence(written span, in *time.Location, exclusion bool) *occurrence {
	begin := wall(written.start, in)
	return &occurrence{clock{in: in}, clock{in: in}, exclusion, written, begin, wall(written.end, in).Sub(begin)}
}

// longest returns a duration longer than any occurrence on the wall clock, up to the
// maximum of a Duration: 292 years.
func (o *occurrence) longest() time.Duration {
	const slack = 2 * clockSlack
	return min(max(o.written.length(), o.wallLasts), math.MaxInt64-slack) + slack
}

// at returns the occurrence that starts when the clock shows w. A window may have no
// length; it is then closed that night.
func (o *occurrence) at(w time.Time) span {
	if w.Equal(o.begin) {
		return o.written
	}
	start, moved, gap := o.starts.instants(w)
	if gap {
		start = moved
	}
	elapsed := start.Add(o.written.length())
	first, last, _ := o.ends.instants(w.Add(o.wallLasts))
	if o.exclusion {
		return span{start, later(elapsed, last)}
	}
	return span{start, earlier(elapsed, first)}
}
