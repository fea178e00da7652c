package render

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// Options are what drawing depends on besides the values.
type Options struct {
	// Now gives ages their length.
	Now time.Time
	// Cluster is what people call the cluster. Empty: it is not said.
	Cluster string
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
	// Shows reports whether the table of nodes shows the one of that name, and Selector is
	// what chooses them. Nil: all.
	Shows    func(name string) bool
	Selector string
	// Unchecked is why there are no findings for a plan; empty: the checks were made.
	Unchecked string
	// Available is the newest patch that could be applied, for a plan without an upgrade; empty: there is none.
	Available string
}

// clusterRows returns the line with which a screen begins: which cluster it shows.
func (o Options) clusterRows() [][2]cell {
	if o.Cluster == "" {
		return nil
	}
	return [][2]cell{titled("Cluster:", cell{o.Cluster, bold})}
}

// of returns a sentence that begins with the cluster's name.
func (o Options) of(sentence string) string {
	if o.Cluster == "" {
		return sentence
	}
	return o.Cluster + ": " + sentence
}

// named returns a list under the line that says of which cluster it is: for people at a terminal, not for a program that
// counts on the header being the first line.
func (o Options) named(list string) string {
	if o.Width == 0 {
		return list
	}
	return o.titles(o.clusterRows()) + list
}

// shownRows returns the line that says how many of the nodes are shown.
func (o Options) shownRows(shown, all int) [][2]cell {
	if o.Shows == nil {
		return nil
	}
	return [][2]cell{titled("Shown:", cell{fmt.Sprintf("%d of %d nodes, which match -l %s", shown, all, o.Selector), plain})}
}

// color is an ANSI SGR parameter.
type color string

const (
	plain color = ""
	bold  color = "1"
	faint color = "2"
	red   color = "31"
	green color = "32"
	// yellow is where a person should look, and not where something waits by itself. The yellow of most terminals cannot
	// be read on white: this is one of xterm's 256 colors, which has a contrast of more than 4 to 1 with black and with white.
	yellow color = "38;5;130"
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

var stateColors = map[view.State]color{
	view.StateDone: green, view.StateActive: cyan, view.StateFailed: red, view.StateUnsupported: faint, view.StateUnknown: faint,
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

// Sanitize returns the text with control characters shown as they stand in JSON. With
// colors, those that this package writes stay.
func Sanitize(text string, colors bool) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		color := 0
		if colors {
			color = colorLength(text)
		}
		switch {
		case color > 0:
			size = color
			b.WriteString(text[:size])
		case r == utf8.RuneError && size == 1, r != '\n' && r != '\t' && unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// Paragraph breaks a text into lines that fit.
func Paragraph(text string, o Options) []string {
	lines := wrap(text, o.Width)
	for i, line := range lines {
		lines[i] = o.paint(line, plain)
	}
	return lines
}

// lines returns a phrase for each decision.
func peopleLines(p view.People) (list []string) {
	switch {
	case p.ChangedBy != "":
		list = append(list, "changed by "+p.ChangedBy)
	case p.Changed:
		list = append(list, "changed by a user who is not recorded")
	}
	if p.ApprovedBy != "" {
		list = append(list, "approved by "+p.ApprovedBy)
	}
	return list
}

// age returns how long ago t was, as kubectl writes it.
func (o Options) age(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return duration.HumanDuration(max(o.Now.Sub(*t), 0))
}

// when returns a time with its zone, and how far away it is.
func (o Options) when(t time.Time) string {
	text := t.In(o.Zone).Format("2006-01-02 15:04 MST")
	if ahead := t.Sub(o.Now); ahead > 0 {
		return text + " (in " + duration.HumanDuration(ahead) + ")"
	}
	return text
}

// short returns the time of day without its zone, and the day if that is not today.
func (o Options) short(t *time.Time) string {
	if t == nil {
		return "-"
	}
	at, today := t.In(o.Zone), o.Now.In(o.Zone)
	switch {
	case at.YearDay() == today.YearDay() && at.Year() == today.Year():
		return at.Format("15:04")
	case at.After(today) && at.Before(today.AddDate(0, 0, 6)):
		return at.Format("Mon 15:04")
	case at.Year() == today.Year():
		return at.Format("Jan 2 15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// zoneName returns the abbreviation of the zone in which times are shown.
func (o Options) zoneName() string { return o.Now.In(o.Zone).Format("MST") }

// date matches a message that contains the time already.
var date = regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`)

// why returns the one sentence for a node that waits or failed. A code that the message
// repeats is left out. To a message that contains the time already it adds only how far
// away that is.
func (o Options) why(reason v1alpha1.Reason, message string, until *time.Time) string {
	message = o.said(message)
	if reason == v1alpha1.ReasonReleased || reason == v1alpha1.ReasonUpToDate && message != "" {
		reason = ""
	}
	text := strings.TrimSuffix(string(reason)+": "+message, ": ")
	text = strings.TrimPrefix(text, ": ")
	switch {
	case until == nil || until.Before(o.Now):
		return text
	case date.MatchString(message):
		return text + " (in " + duration.HumanDuration(until.Sub(o.Now)) + ")"
	}
	return strings.TrimPrefix(text+", until "+o.when(*until), ", ")
}

// orDash returns the text, or a dash for an empty one.
func orDash(text string) string {
	return cmp.Or(text, "-")
}
