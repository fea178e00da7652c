package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
)

// sheet is what --watch writes on.
type sheet interface {
	// show draws the status; silent says that the API server does not answer,
	// so that the status may be old.
	show(shown render.Status, silent bool)
	close()
}

func (s *status) newSheet() sheet {
	if _, _, terminal := s.terminal(); terminal {
		fmt.Fprint(s.Out, enterScreen)
		return &screen{status: s}
	}
	return &log{out: s.Out, now: s.now}
}

// Escape sequences of xterm, which every terminal of today knows.
const (
	// enterScreen turns to the alternate screen, hides the cursor, and cuts
	// lines that are too long, so that a line is a line.
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// screen redraws a terminal, and leaves the last picture behind.
type screen struct {
	*status
	last string
}

func (s *screen) show(shown render.Status, silent bool) {
	s.last = s.draw(shown)
	foot := "Following; Ctrl-C ends that, and not the upgrade."
	if silent {
		foot = "The API server does not answer, what stands above is what was known last. Trying again."
	}
	lines := strings.Split(strings.TrimRight(s.last, "\n"), "\n")
	_, height, _ := s.terminal()
	if room := max(height-2, 1); len(lines) > room {
		lines = append(lines[:room-1], fmt.Sprintf("… and %d lines more", len(lines)-room+1))
	}
	lines = append(lines, "", foot)
	// A line is cleared before it is written: behind a full line it would lose
	// its last letter.
	fmt.Fprint(s.Out, home+clearLine+strings.Join(lines, "\n"+clearLine)+clearBelow)
}

func (s *screen) close() { fmt.Fprint(s.Out, leaveScreen+s.last) }

// log writes a line for each change.
type log struct {
	out    io.Writer
	now    func() time.Time
	before *render.Status
	silent bool
}

func (l *log) show(shown render.Status, silent bool) {
	for _, line := range render.Transitions(l.before, shown, l.now()) {
		fmt.Fprintln(l.out, line)
	}
	l.before = &shown
	if l.silent == silent {
		return
	}
	l.silent = silent
	words := "the API server answers again"
	if silent {
		words = "the API server does not answer"
	}
	fmt.Fprintln(l.out, l.now().UTC().Format(time.RFC3339), words)
}

func (l *log) close() {}
