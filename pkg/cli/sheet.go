package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
)

// sheet is what following writes on.
type sheet interface {
	show(look)
	close()
}

func (p *program) newSheet() sheet {
	if _, _, terminal := p.terminal(); terminal {
		fmt.Fprint(p.terminalOut, enterScreen)
		return &screen{program: p}
	}
	return &log{out: p.Out, now: p.now}
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
	*program
	picture string // the last, without what stands below it
	written string
}

func (s *screen) show(now look) {
	width, height, _ := s.terminal()
	options := s.drawing()
	foot := footer(now, options)
	room := max(height-len(foot)-1, 1) // an empty line above the foot
	s.picture = now.picture
	if now.progress != nil {
		s.picture = render.Follow(*now.progress, room, options)
	}
	lines := strings.Split(strings.TrimRight(s.picture, "\n"), "\n")
	if len(lines) > room {
		lines = append(lines[:room-1], fmt.Sprintf("… and %d lines more", len(lines)-room+1))
	}
	lines = append(append(lines, ""), foot...)
	// A line is cleared before it is written: behind a full line it would lose
	// its last letter.
	all := home + clearLine + strings.ReplaceAll(shown(strings.Join(lines, "\n"), true), "\n", "\n"+clearLine) + clearBelow
	if size := fmt.Sprint(width, height); s.written != size+all {
		s.written = size + all
		fmt.Fprint(s.terminalOut, all)
	}
}

// footer is what a screen says below the picture.
func footer(now look, o render.Options) []string {
	switch {
	case now.silent:
		return render.Paragraph("The API server does not answer, what stands above is what was known last. Trying again.", o)
	case now.progress == nil:
		return render.Paragraph("Following; Ctrl-C ends that, and not the upgrade.", o)
	}
	return render.Paragraph(fmt.Sprintf("Ctrl-C detaches, and the upgrade goes on: `kubectl upgrade status -w` comes back, `kubectl upgrade suspend %s` stops it before the next node.", now.progress.Upgrade.Name), o)
}

func (s *screen) close() { fmt.Fprint(s.terminalOut, leaveScreen+shown(s.picture, true)) }

// log writes a line for each change.
type log struct {
	out    io.Writer
	now    func() time.Time
	before *render.Status
	silent bool
}

func (l *log) show(now look) {
	for _, line := range render.Transitions(l.before, now.status, l.now()) {
		fmt.Fprintln(l.out, line)
	}
	l.before = &now.status
	if l.silent == now.silent {
		return
	}
	l.silent = now.silent
	words := "the API server answers again"
	if now.silent {
		words = "the API server does not answer"
	}
	fmt.Fprintln(l.out, l.now().UTC().Format(time.RFC3339), words)
}

func (l *log) close() {}
