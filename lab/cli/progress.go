package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
)

// progress shows each step and how long it took. On a terminal, a step that runs is one
// line that is drawn again and again.
func progress(out io.Writer) artifacts.Reporter {
	width := terminalWidth(out)
	return func(name string) artifacts.Step {
		if width() > 0 {
			return startBar(out, name, width)
		}
		return startLogged(out, name, time.Now)
	}
}

// logged is a step in a log: a line when each tenth of it is done.
type logged struct {
	out    io.Writer
	name   string
	now    func() time.Time
	began  time.Time
	tenths int
}

func startLogged(out io.Writer, name string, now func() time.Time) *logged {
	fmt.Fprintf(out, "  %s … ", name)
	return &logged{out: out, name: name, now: now, began: now()}
}

func (l *logged) Progress(part float64, text string) {
	tenths := int(part * 10)
	if tenths <= l.tenths {
		return
	}
	if l.tenths == 0 {
		fmt.Fprintln(l.out)
	}
	l.tenths = tenths
	fmt.Fprintf(l.out, "    %s\n", describe(part, text, l.now().Sub(l.began)))
}

func (l *logged) End(err error) {
	if l.tenths > 0 {
		fmt.Fprintf(l.out, "  %s … ", l.name)
	}
	fmt.Fprintln(l.out, result(l.now().Sub(l.began), err))
}

// describe returns how much of a step is done, and how long the rest will take.
func describe(part float64, text string, elapsed time.Duration) string {
	line := fmt.Sprintf("%.0f %%, %s", part*100, text)
	if left := estimate(part, elapsed); left != "" {
		line += ", " + left
	}
	return line
}

// estimate returns how long the rest of a step will take if it is as fast as before, or
// "" at its beginning, where that is not known yet.
func estimate(part float64, elapsed time.Duration) string {
	const least = 0.03
	if part < least || elapsed < 2*time.Second {
		return ""
	}
	left := time.Duration(float64(elapsed) * (1 - part) / part)
	if left < time.Minute {
		return "less than a minute left"
	}
	return fmt.Sprintf("about %d min left", int(left.Round(time.Minute).Minutes()))
}

// result returns how long a step took.
func result(took time.Duration, err error) string {
	rounded := took.Round(100 * time.Millisecond)
	if err != nil {
		return fmt.Sprintf("failed after %s", rounded)
	}
	return rounded.String()
}
