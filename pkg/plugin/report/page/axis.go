package page

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
)

// axis places instants from left, 0, to right, 1. Time in which nothing happens is a break
// of a fixed width: an upgrade may wait for days for a window of an hour.
type axis struct {
	segments []segment
}

// segment is a piece of the axis.
type segment struct {
	start, end  time.Time
	left, right float64
	isBreak     bool
}

// The widths of the axis.
const (
	breakWidth = 0.028
	// maxBreaks is how many breaks there are at most; shorter ones are left out.
	maxBreaks = 12
	// minBreak is how long a break is at least, as a part of the time in which something
	// happens.
	minBreak = 0.2
)

// newAxis returns the axis of a report.
func newAxis(r *report.Report) axis {
	spans := activity(r)
	total := time.Duration(0)
	for _, s := range spans {
		total += s.end.Sub(s.start)
	}
	pad := max(total/40, 20*time.Second)
	for i := range spans {
		spans[i].start, spans[i].end = spans[i].start.Add(-pad), spans[i].end.Add(pad)
	}
	spans = joinNear(spans, max(time.Duration(float64(total)*minBreak), 4*pad))
	width := 1 - breakWidth*float64(len(spans)-1)
	total = 0
	for _, s := range spans {
		total += s.end.Sub(s.start)
	}
	var a axis
	left := 0.0
	for i, s := range spans {
		if i > 0 {
			a.segments = append(a.segments, segment{start: spans[i-1].end, end: s.start, left: left, right: left + breakWidth, isBreak: true})
			left += breakWidth
		}
		s.left, s.right = left, left+width*float64(s.end.Sub(s.start))/float64(total)
		a.segments, left = append(a.segments, s), s.right
	}
	return a
}

// activity returns the times in which something happened or is predicted, in order. There
// is at least one.
func activity(r *report.Report) []segment {
	var spans []segment
	add := func(start, end time.Time) {
		spans = append(spans, segment{start: start, end: end})
	}
	if start := r.Upgrade.StartTime; start != nil {
		add(*start, *start)
	}
	if r.Upgrade.EndTime != nil {
		add(*r.Upgrade.EndTime, *r.Upgrade.EndTime)
	} else {
		add(r.GeneratedTime, r.GeneratedTime)
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		for _, s := range n.Steps {
			if phase := s.Step.Info().Phase; s.Step == v1alpha1.StepStaging || phase == v1alpha1.PhaseRevocable || phase == v1alpha1.PhaseCommitted {
				add(s.Start, endOf(r, s))
			}
		}
		if n.PredictedStartTime != nil && n.PredictedEndTime != nil {
			add(*n.PredictedStartTime, *n.PredictedEndTime)
		}
	}
	return joinNear(spans, 0)
}

// endOf returns when a step ended. One that lasts ends with the report.
func endOf(r *report.Report, s report.Step) time.Time {
	switch {
	case s.End != nil:
		return *s.End
	case r.Upgrade.EndTime != nil:
		return *r.Upgrade.EndTime
	}
	return r.GeneratedTime
}

// joinNear joins spans that are not further apart than gap, and then the nearest until
// there are few enough.
func joinNear(spans []segment, gap time.Duration) []segment {
	slices.SortFunc(spans, func(a, b segment) int { return a.start.Compare(b.start) })
	for {
		var joined []segment
		for _, s := range spans {
			if last := len(joined) - 1; last >= 0 && s.start.Sub(joined[last].end) <= gap {
				if s.end.After(joined[last].end) {
					joined[last].end = s.end
				}
				continue
			}
			joined = append(joined, s)
		}
		if gap == 0 || len(joined) <= maxBreaks+1 {
			return joined
		}
		spans, gap = joined, gap*2
	}
}

// at returns where an instant is.
func (a axis) at(t time.Time) float64 {
	for _, s := range a.segments {
		if t.Before(s.start) {
			return s.left
		}
		if t.Before(s.end) {
			return s.left + (s.right-s.left)*float64(t.Sub(s.start))/float64(s.end.Sub(s.start))
		}
	}
	return a.segments[len(a.segments)-1].right
}

// percent returns a part of the axis as an attribute of SVG.
func percent(x float64) string {
	text := strconv.FormatFloat(x*100, 'f', 2, 64)
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	if text[len(text)-1] == '.' {
		text = text[:len(text)-1]
	}
	return text + "%"
}

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

// clock writes times in one zone.
type clock struct {
	zone *time.Location
	// abbreviate reports whether each time needs the zone's abbreviation, because its
	// offset changes within the report.
	abbreviate bool
	// sameYear reports whether the report is within one year, which is not repeated.
	sameYear bool
	now      time.Time
}

func newClock(zone *time.Location, start, end, now time.Time) clock {
	_, first := start.In(zone).Zone()
	_, last := end.In(zone).Zone()
	return clock{zone: zone, abbreviate: first != last, sameYear: start.In(zone).Year() == end.In(zone).Year(), now: now}
}

// full returns a time with its zone.
func (c clock) full(t time.Time) string { return t.In(c.zone).Format("2006-01-02 15:04:05 MST") }

// short returns a time for a table whose caption states the zone.
func (c clock) short(t time.Time) string { return c.format(t, "15:04") }

// exact is short with seconds.
func (c clock) exact(t time.Time) string { return c.format(t, "15:04:05") }

func (c clock) format(t time.Time, timeOfDay string) string {
	form := "2 Jan 2006 " + timeOfDay
	if c.sameYear {
		form = "2 Jan " + timeOfDay
	}
	if c.abbreviate {
		form += " MST"
	}
	return t.In(c.zone).Format(form)
}

// name returns the zone for people, such as "Europe/Berlin, CET (UTC+01:00)".
func (c clock) name() string {
	at := c.now.In(c.zone)
	name, offset := at.Format("MST"), at.Format("-07:00")
	if name == "UTC" {
		return "UTC"
	}
	text := fmt.Sprintf("%s (UTC%s)", name, offset)
	if zone := c.zone.String(); zone != "Local" && zone != name {
		text = zone + ", " + text
	}
	return text
}

// length returns a duration for people.
func length(d time.Duration) string { return report.Length(d) }

// seconds is length for a number of seconds.
func seconds(n int32) string { return length(time.Duration(n) * time.Second) }
