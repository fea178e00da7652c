package soak

import (
	"slices"
	"time"
)

// Point is one measured value.
type Point struct {
	At    time.Duration // since the run began
	Value float64
}

// Series are the values of one thing, in order.
type Series []Point

// Limit is how much the values of a series may grow: to Factor times what they were early,
// and by Slack more. Slack is for small numbers, which vary by a large part of themselves.
type Limit struct {
	Factor, Slack float64
}

// judged is how many values a series needs to be judged.
const judged = 6

// Judged reports whether the series is long enough to see growth.
func (s Series) Judged() bool { return len(s) >= judged }

// Early returns the largest value of the first quarter, of two values at least.
func (s Series) Early() float64 {
	return slices.Max(values(s[:min(len(s), s.quarter())]))
}

// Late returns the median of the last quarter, of two values at least. Of an even number it is
// the smaller one of the middle.
func (s Series) Late() float64 {
	late := values(s[max(0, len(s)-s.quarter()):])
	slices.Sort(late)
	return late[(len(late)-1)/2]
}

func (s Series) quarter() int { return max(2, len(s)/4) }

// Grows reports whether the values grew beyond the limit.
func (s Series) Grows(l Limit) bool {
	return s.Judged() && s.Late() > s.Early()*l.Factor+l.Slack
}

// PerHour returns the slope of the straight line that is closest to the values.
func (s Series) PerHour() float64 {
	if len(s) < 2 {
		return 0
	}
	var at, value float64
	for _, p := range s {
		at += p.At.Hours() / float64(len(s))
		value += p.Value / float64(len(s))
	}
	var both, square float64
	for _, p := range s {
		both += (p.At.Hours() - at) * (p.Value - value)
		square += (p.At.Hours() - at) * (p.At.Hours() - at)
	}
	if square == 0 {
		return 0
	}
	return both / square
}

func values(s Series) []float64 {
	all := make([]float64, 0, len(s))
	for _, p := range s {
		all = append(all, p.Value)
	}
	return all
}
