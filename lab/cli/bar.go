package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// bar is a step on a terminal: one line, which is drawn again each second and when there
// is progress.
type bar struct {
	out   io.Writer
	name  string
	width func() int
	began time.Time
	ended chan struct{}

	mu    sync.Mutex
	drawn time.Time
	part  float64
	text  string
}

func startBar(out io.Writer, name string, width func() int) *bar {
	b := &bar{out: out, name: name, width: width, began: time.Now(), ended: make(chan struct{})}
	b.draw()
	go b.redraw()
	return b
}

func (b *bar) redraw() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-b.ended:
			return
		case <-ticker.C:
			b.mu.Lock()
			b.draw()
			b.mu.Unlock()
		}
	}
}

func (b *bar) Progress(part float64, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.part, b.text = part, text
	if time.Since(b.drawn) > 100*time.Millisecond {
		b.draw()
	}
}

func (b *bar) End(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.ended)
	fmt.Fprintf(b.out, "%s  %s … %s\n", startOfLine, b.name, result(time.Since(b.began), err))
}

// startOfLine moves to the line's beginning and clears it.
const startOfLine = "\r\x1b[K"

func (b *bar) draw() {
	select {
	case <-b.ended:
		return
	default:
	}
	b.drawn = time.Now()
	fmt.Fprint(b.out, startOfLine+barLine(b.name, b.part, b.text, time.Since(b.began), b.width()))
}

// barLine returns the longest line that fits into width. A line as wide as the terminal
// would wrap on some.
func barLine(name string, part float64, text string, elapsed time.Duration, width int) string {
	short := fmt.Sprintf("  %s … %s", name, elapsed.Round(time.Second))
	lines := []string{short}
	if text != "" {
		percent := fmt.Sprintf("  %s … %.0f %%", name, part*100)
		full := fmt.Sprintf("  %s … %s", name, describe(part, text, elapsed))
		lines = []string{full + "  " + drawing(part, 40), full + "  " + drawing(part, 20), full, percent + "  " + drawing(part, 20), percent}
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) < width {
			return line
		}
	}
	last := []rune(lines[len(lines)-1])
	return string(last[:max(0, width-1)])
}

func drawing(part float64, length int) string {
	full := min(max(int(part*float64(length)), 0), length)
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", length-full) + "]"
}

// terminalWidth returns a function for the width of out, which may change; it is 0 if
// out is no terminal.
func terminalWidth(out io.Writer) func() int {
	file, ok := out.(*os.File)
	if !ok {
		return func() int { return 0 }
	}
	return func() int {
		size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
		if err != nil {
			return 0
		}
		if size.Col == 0 {
			return 80 // a serial console does not know
		}
		return int(size.Col)
	}
}
