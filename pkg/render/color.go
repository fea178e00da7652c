package render

import "time"

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

func (o Options) paint(text string, c color) string {
	if !o.Color || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

var stateColors = map[State]color{
	StateDone: green, StateActive: cyan, StateWaiting: yellow, StateFailed: red, StateUnsupported: faint, StateUnknown: faint,
}
