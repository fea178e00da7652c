package main

import (
	"slices"
	"strings"

	"github.com/hinshun/vt10x"
)

const (
	fullScreen   = "\x1b[?1049h" // begins a screen that is redrawn
	backToLines  = "\x1b[?1049l"
	shownFor     = 7.0 // seconds, for which the screen that is redrawn is shown
	shortest     = 0.1 // seconds between two frames
	lastShownFor = 4.0
)

// frame is what the terminal shows from a moment on.
type frame struct {
	at   float64
	rows []string // SVG, one for each line
}

// speed returns how many times faster the redrawn screen is shown, and from when until when.
func (c cast) speed() (factor, from, until float64) {
	first := slices.IndexFunc(c.events, func(e event) bool { return strings.Contains(e.data, fullScreen) })
	if first < 0 {
		return 1, 0, 0
	}
	last := len(c.events) - 1
	for i := last; i > first; i-- {
		if strings.Contains(c.events[i].data, backToLines) {
			last = i
			break
		}
	}
	from, until = c.events[first].at, c.events[last].at
	return max(1, (until-from)/shownFor), from, until
}

// frames plays the recording on a terminal, and returns what it showed, and for how long in all.
func (c cast) frames() (all []frame, seconds float64) {
	factor, from, until := c.speed()
	shown := func(at float64) float64 {
		return at - (min(max(at, from), until)-from)*(1-1/factor)
	}
	terminal := vt10x.New(vt10x.WithSize(c.Width, c.Height))
	for i, e := range c.events {
		_, _ = terminal.Write([]byte(e.data))
		at, last := shown(e.at), i == len(c.events)-1
		if !last && shown(c.events[i+1].at)-at < 1e-3 { // the same output, in pieces
			continue
		}
		rows := rowsOf(terminal)
		switch {
		case len(all) == 0:
			all = append(all, frame{0, rows})
		case slices.Equal(all[len(all)-1].rows, rows):
		case at-all[len(all)-1].at < shortest && at < shown(until) && at > from:
			all[len(all)-1].rows = rows
		default:
			all = append(all, frame{at, rows})
		}
		seconds = at
	}
	return all, seconds + lastShownFor
}
