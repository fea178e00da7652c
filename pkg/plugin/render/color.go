package render

import (
	"strings"
	"time"
	"unicode"
)

// Options are what drawing depends on besides the values.
type Options struct {
	// Now gives ages their length.
	Now time.Time
	// Zone is the zone that times are printed in.
	Zone *time.Location
	// Width of the terminal in columns; 0: no limit.
	Width int
	// Color allows color.
	Color bool
	// Wide adds columns.
	Wide bool
	// Rows is how many nodes of a plan are shown; 0: all.
	Rows int
	// Unchecked is why there are no findings for a plan; empty: the checks were made.
	Unchecked string
}

// color is an ANSI SGR parameter.
type color string

const (
	plain  color = ""
	bold   color = "1"
	faint  color = "2"
	red    color = "31"
	green  color = "32"
	yellow color = "33"
	cyan   color = "36"
)

// paint colors a text. What would move the cursor or color by itself, as a
// message of another program's may, becomes a space.
func (o Options) paint(text string, c color) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if !o.Color || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

var stateColors = map[State]color{
	StateDone: green, StateActive: cyan, StateWaiting: yellow, StateFailed: red, StateUnsupported: faint, StateUnknown: faint,
}

// colorLength returns how many bytes of a color of ours the text begins with; 0: it
// begins with none.
func colorLength(text string) int {
	for _, c := range []color{"0", bold, faint, red, green, yellow, cyan} {
		if sequence := "\x1b[" + string(c) + "m"; strings.HasPrefix(text, sequence) {
			return len(sequence)
		}
	}
	return 0
}
