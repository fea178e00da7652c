package soak

import (
	"math"
	"testing"
	"time"
)

// everyMinute returns a series with these values, a minute apart.
func everyMinute(values ...float64) Series {
	var s Series
	for i, value := range values {
		s = append(s, Point{time.Duration(i) * time.Minute, value})
	}
	return s
}

func TestGrows(t *testing.T) {
	for name, test := range map[string]struct {
		series Series
		limit  Limit
		want   bool
	}{
		"level":                      {everyMinute(40, 41, 40, 39, 41, 40, 40, 41), Limit{1.3, 0}, false},
		"a leak in each round":       {everyMinute(40, 44, 48, 52, 56, 60, 64, 68), Limit{1.3, 0}, true},
		"it grows at first only":     {everyMinute(30, 60, 61, 60, 62, 60, 61, 60), Limit{1.3, 0}, false},
		"a peak at the end":          {everyMinute(40, 41, 40, 39, 41, 40, 40, 90), Limit{1.3, 0}, false},
		"below the slack":            {everyMinute(10, 10, 11, 12, 12, 13, 13, 14), Limit{1.1, 5}, false},
		"above the slack":            {everyMinute(10, 12, 14, 16, 18, 20, 22, 24), Limit{1.1, 5}, true},
		"too short to be judged":     {everyMinute(10, 20, 40, 80, 160), Limit{1.1, 0}, false},
		"just long enough":           {everyMinute(10, 20, 40, 80, 160, 320), Limit{1.1, 0}, true},
		"none":                       {nil, Limit{1.1, 0}, false},
		"it shrinks":                 {everyMinute(90, 80, 70, 60, 50, 40), Limit{1, 0}, false},
		"it grows by the whole part": {everyMinute(0, 0, 0, 0, 1, 1), Limit{1, 0}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.series.Grows(test.limit); got != test.want {
				t.Errorf("got %t, want %t: early %.0f, late %.0f", got, test.want, test.series.Early(), test.series.Late())
			}
		})
	}
}

func TestPerHour(t *testing.T) {
	for name, test := range map[string]struct {
		series Series
		want   float64
	}{
		"one more each minute": {everyMinute(5, 6, 7, 8), 60},
		"level":                {everyMinute(5, 5, 5), 0},
		"about level":          {everyMinute(5, 6, 6, 5), 0},
		"one value":            {everyMinute(5), 0},
		"at one time":          {Series{{0, 5}, {0, 6}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.series.PerHour(); math.Abs(got-test.want) > 1e-9 {
				t.Errorf("got %f, want %f", got, test.want)
			}
		})
	}
}
