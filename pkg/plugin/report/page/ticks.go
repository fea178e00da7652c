package page

import "time"

// zooms are how many times wider than the page the timeline can be.
var zooms = []int{1, 2, 5, 20}

// tick is a mark on the axis.
type tick struct {
	X, Label string
	// AtEnd reports whether the label has no room to the right of its place.
	AtEnd bool
}

// tickSet is the ticks of one zoom.
type tickSet struct {
	Zoom   int
	Ticks  []tick
	Labels []tick // dates
}

// tickRoom is how far apart ticks are at least, and dayRoom dates, as a part of the page.
const (
	tickRoom = 0.068
	dayRoom  = 0.082
)

// intervals are what ticks may be apart.
var intervals = []time.Duration{
	10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour,
}

// tickSets returns the ticks for each zoom.
func (a axis) tickSets(c clock) (sets []tickSet) {
	for _, zoom := range zooms {
		set := tickSet{Zoom: zoom}
		lastTick, lastDay, last := -1.0, -1.0, ""
		for _, s := range a.segments {
			if s.isBreak {
				continue
			}
			if date := s.start.In(c.zone).Format("2 Jan"); date != last && (lastDay < 0 || s.left-lastDay >= dayRoom/float64(zoom)) {
				set.Labels = append(set.Labels, day(s.left, date, zoom))
				lastDay, last = s.left, date
			}
			for _, t := range s.ticks(c, zoom) {
				x := a.at(t)
				if lastTick >= 0 && x-lastTick < tickRoom/float64(zoom) || s.right-x < tickRoom/2/float64(zoom) {
					continue
				}
				lastTick = x
				set.Ticks = append(set.Ticks, tick{X: percent(x), Label: label(t.In(c.zone))})
				if date := t.In(c.zone).Format("2 Jan"); date != last && x-lastDay >= dayRoom/float64(zoom) {
					set.Labels = append(set.Labels, day(x, date, zoom))
					lastDay, last = x, date
				}
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// day returns the label of a date.
func day(x float64, date string, zoom int) tick {
	return tick{X: percent(x), Label: date, AtEnd: 1-x < dayRoom*0.6/float64(zoom)}
}

func label(t time.Time) string {
	if t.Second() != 0 {
		return t.Format("15:04:05")
	}
	return t.Format("15:04")
}

// ticks returns the instants of a segment at which its clock shows a round time.
func (s segment) ticks(c clock, zoom int) (ticks []time.Time) {
	length := s.end.Sub(s.start)
	room := time.Duration(float64(length) * tickRoom / (s.right - s.left) / float64(zoom))
	every := intervals[len(intervals)-1]
	for _, one := range intervals {
		if one >= room {
			every = one
			break
		}
	}
	_, offset := s.start.In(c.zone).Zone()
	shift := time.Duration(offset) * time.Second
	for t := s.start.Add(shift).Truncate(every).Add(-shift); t.Before(s.end); t = t.Add(every) {
		if !t.Before(s.start) {
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// gap is a break of the axis.
type gap struct{ X, Width, Middle, Label string }

// gaps returns the breaks, each with how long it is.
func (a axis) gaps() (list []gap) {
	for _, s := range a.segments {
		if s.isBreak {
			list = append(list, gap{percent(s.left), percent(s.right - s.left), percent((s.left + s.right) / 2), brief(s.end.Sub(s.start))})
		}
	}
	return list
}

// brief returns a duration with one unit.
func brief(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return length(d.Round(24 * time.Hour))
	case d >= 2*time.Hour:
		return length(d.Round(time.Hour))
	case d >= 2*time.Minute:
		return length(d.Round(time.Minute))
	}
	return length(d)
}
