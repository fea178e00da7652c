package watch

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// Frame is what is known at one moment.
type Frame struct {
	Cluster clusterstate.Snapshot
	Status  view.Status
	// Progress of the upgrade that is followed. Nil: Picture is shown instead.
	Progress *view.Progress
	Picture  string
	// Ended reports whether the upgrade has ended, or does not go on by itself.
	Ended bool
	// Unreachable reports whether the API server does not answer, so that all of this
	// may be old.
	Unreachable bool
}

// Display is where frames are shown. An error of Show ends the following.
type Display interface {
	Show(Frame) error
	Close()
}

// Escape sequences of xterm, which every terminal of today knows.
const (
	// enterScreen switches to the alternate screen, hides the cursor, and turns
	// wrapping off, so that a long line is cut.
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// screen redraws a terminal, and leaves the last picture behind.
type screen struct {
	terminal io.Writer
	size     func() (width, height int, ok bool)
	options  func() render.Options
	picture  string // the last one, without the footer
	written  string
}

// NewScreen returns a Display that redraws the terminal of that size, with the options
// of each moment.
func NewScreen(terminal io.Writer, size func() (width, height int, ok bool), options func() render.Options) Display {
	fmt.Fprint(terminal, enterScreen)
	return &screen{terminal: terminal, size: size, options: options}
}

// Show is part of Display.
func (s *screen) Show(f Frame) error {
	width, height, _ := s.size()
	options := s.options()
	foot := footer(f, options)
	room := max(height-len(foot)-1, 1) // an empty line above the footer
	s.picture = f.Picture
	if f.Progress != nil {
		s.picture = render.Follow(*f.Progress, room, options)
	}
	if f.Progress != nil && f.Ended {
		s.picture = render.Ended(*f.Progress, options)
	}
	lines := strings.Split(strings.TrimRight(s.picture, "\n"), "\n")
	if len(lines) > room {
		lines = append(lines[:room-1], fmt.Sprintf("… and %d lines more", len(lines)-room+1))
	}
	lines = append(append(lines, ""), foot...)
	// A line is cleared before it is written: behind a full line it would lose
	// its last letter.
	all := home + clearLine + strings.ReplaceAll(render.Sanitize(strings.Join(lines, "\n"), true), "\n", "\n"+clearLine) + clearBelow
	size := fmt.Sprint(width, height)
	if s.written == size+all {
		return nil
	}
	s.written = size + all
	_, err := fmt.Fprint(s.terminal, all)
	return err
}

// FooterLines returns how many lines a screen keeps below a picture.
func FooterLines(o render.Options) int { return len(footer(Frame{}, o)) }

// footer returns the lines below the picture.
func footer(f Frame, o render.Options) []string {
	switch {
	case f.Unreachable:
		return render.Paragraph("The API server does not answer. The state above is the last one known. Trying again.", o)
	case f.Progress == nil:
		return render.Paragraph("Ctrl-C stops the display, and nothing else.", o)
	case !Continues(&f.Progress.Upgrade):
		return render.Paragraph(fmt.Sprintf("Ctrl-C stops the display; %s.", GoesOn(&f.Progress.Upgrade)), o)
	}
	return render.Paragraph(fmt.Sprintf("Ctrl-C stops the display, not the upgrade. Follow it again with `kubectl upgrade status -w`; pause it with `kubectl upgrade suspend %s`.",
		f.Progress.Upgrade.Name), o)
}

// Close is part of Display.
func (s *screen) Close() { fmt.Fprint(s.terminal, leaveScreen+render.Sanitize(s.picture, true)) }

// log writes a line for each change.
type log struct {
	out         io.Writer
	cluster     string
	now         func() time.Time
	before      *view.Status
	unreachable bool
}

// NewLog returns a Display that writes a line for each change, and before them one with what people call the cluster, unless
// that is empty.
func NewLog(out io.Writer, cluster string, now func() time.Time) Display {
	return &log{out: out, cluster: cluster, now: now}
}

// Show is part of Display.
func (l *log) Show(f Frame) error {
	lines := render.Transitions(l.before, f.Status, l.now())
	if l.before == nil && l.cluster != "" {
		lines = append([]string{l.now().UTC().Format(time.RFC3339) + " cluster " + l.cluster}, lines...)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(l.out, line); err != nil {
			return err
		}
	}
	l.before = &f.Status
	if l.unreachable == f.Unreachable {
		return nil
	}
	l.unreachable = f.Unreachable
	message := "the API server answers again"
	if f.Unreachable {
		message = "the API server does not answer"
	}
	_, err := fmt.Fprintln(l.out, l.now().UTC().Format(time.RFC3339), message)
	return err
}

// Close is part of Display.
func (l *log) Close() {}
