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
	// Colour allows colour.
	Colour bool
	// Wide adds columns.
	Wide bool
}

// colour is an ANSI SGR parameter.
type colour string

const (
	plain  colour = ""
	bold   colour = "1"
	faint  colour = "2"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	cyan   colour = "36"
)

func (o Options) paint(text string, c colour) string {
	if !o.Colour || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

var stateColours = map[State]colour{
	StateDone: green, StateActive: cyan, StateWaiting: yellow, StateFailed: red, StateUnsupported: faint, StateUnknown: faint,
}
