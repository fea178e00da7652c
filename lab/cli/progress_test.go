package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestLogHasALineForEachTenth(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	step := startLogged(&out, "Kubernetes 1.34.3 (compiling)", func() time.Time { return now })
	for n := range 1001 {
		now = now.Add(500 * time.Millisecond)
		step.Progress(float64(n)/1250, fmt.Sprintf("%d of 1000 packages", n))
	}
	now = now.Add(10 * time.Second)
	step.End(nil)
	want := `  Kubernetes 1.34.3 (compiling) … 
    10 %, 125 of 1000 packages, about 9 min left
    20 %, 250 of 1000 packages, about 8 min left
    30 %, 375 of 1000 packages, about 7 min left
    40 %, 500 of 1000 packages, about 6 min left
    50 %, 625 of 1000 packages, about 5 min left
    60 %, 750 of 1000 packages, about 4 min left
    70 %, 875 of 1000 packages, about 3 min left
    80 %, 1000 of 1000 packages, about 2 min left
  Kubernetes 1.34.3 (compiling) … 8m30.5s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLogOfAStepWithoutProgress(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	for _, err := range []error{nil, errors.New("broken")} {
		step := startLogged(&out, "pause", func() time.Time { return now })
		now = now.Add(1234 * time.Millisecond)
		step.Progress(0.05, "1 of 20 packages")
		step.End(err)
	}
	if want := "  pause … 1.2s\n  pause … failed after 1.2s\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestBarFitsIntoEveryTerminal(t *testing.T) {
	const name, text = "Kubernetes 1.34.3 (compiling)", "1180 of 2728 packages"
	last := 0
	for width := range 200 {
		for _, line := range []string{barLine(name, 0.432, text, 3*time.Minute, width), barLine(name, 0, "", time.Minute, width)} {
			if got := utf8.RuneCountInString(line); got >= max(width, 1) {
				t.Errorf("%d characters on a terminal of %d: %q", got, width, line)
			}
		}
		got := utf8.RuneCountInString(barLine(name, 0.432, text, 3*time.Minute, width))
		if got < last {
			t.Errorf("a terminal of %d shows less than a narrower one", width)
		}
		last = got
	}
	for width, want := range map[int]string{
		120: "  Kubernetes 1.34.3 (compiling) … 43 %, 1180 of 2728 packages, about 4 min left  [########------------]",
		80:  "  Kubernetes 1.34.3 (compiling) … 43 %, 1180 of 2728 packages, about 4 min left",
		79:  "  Kubernetes 1.34.3 (compiling) … 43 %  [########------------]",
		40:  "  Kubernetes 1.34.3 (compiling) … 43 %",
		20:  "  Kubernetes 1.34.3",
	} {
		if got := barLine(name, 0.432, text, 3*time.Minute, width); got != want {
			t.Errorf("width %d: got %q, want %q", width, got, want)
		}
	}
}

// TestBarOnATerminal reads what a terminal of 60 columns gets.
func TestBarOnATerminal(t *testing.T) {
	user, program := openTerminal(t, 60)
	step := progress(program)("compiling")
	time.Sleep(150 * time.Millisecond)
	step.Progress(0.5, "1 of 2 packages")
	step.Progress(0.6, "too soon to be drawn")
	time.Sleep(1100 * time.Millisecond)
	step.End(nil)
	if err := program.Close(); err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(user) // a terminal that is closed is EIO
	lines := strings.Split(strings.TrimSuffix(string(got), "\r\n"), startOfLine)
	if len(lines) < 5 || !strings.HasPrefix(lines[2], "  compiling … 50 %, 1 of 2 packages  [####") || !strings.Contains(lines[3], "60 %") || !strings.HasPrefix(lines[len(lines)-1], "  compiling … 1.") {
		t.Errorf("the terminal got %q", lines)
	}
	if strings.Count(string(got), "\n") != 1 {
		t.Errorf("more than one line: %q", got)
	}
}

// openTerminal returns both ends of a new terminal.
func openTerminal(t *testing.T, columns uint16) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { user.Close() })
	number, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(user.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return user, program
}
