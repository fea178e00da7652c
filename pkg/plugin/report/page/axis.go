package page

import (
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
