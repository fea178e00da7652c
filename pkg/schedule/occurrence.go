package schedule

import "time"

// clockSlack is more than any change of a clock moves a time of day: Apia left
// out a whole day.
const clockSlack = 26 * time.Hour

// occurrence turns a wall-clock start into instants.
type occurrence struct {
	in        *time.Location
	exclusion bool
	written   span          // the first, as it is written
	begin     time.Time     // what the clock shows at its start
	wallLasts time.Duration // what the clock has moved on by its end
}

func newOccurrence(written span, in *time.Location, exclusion bool) occurrence {
	begin := wall(written.start, in)
	return occurrence{in, exclusion, written, begin, wall(written.end, in).Sub(begin)}
}

// longest is more than any occurrence lasts on the wall clock.
func (o occurrence) longest() time.Duration {
	return max(o.written.lasts(), o.wallLasts) + 2*clockSlack
}

// at resolves the occurrence that starts when the clock shows w. A window may
// come out without any length; it is then closed that night.
func (o occurrence) at(w time.Time) span {
	if w.Equal(o.begin) {
		return o.written
	}
	start, moved, gap := instants(w, o.in)
	if gap {
		start = moved
	}
	elapsed := start.Add(o.written.lasts())
	first, last, _ := instants(w.Add(o.wallLasts), o.in)
	if o.exclusion {
		return span{start, later(elapsed, last)}
	}
	return span{start, earlier(elapsed, first)}
}
