//go:build unix

package cli_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// emulator emulates a terminal, and keeps what a person sees. It collects the sequences that
// it does not know, which a terminal might print.
type emulator struct {
	mu         sync.Mutex
	cols, rows int
	main, alt  [][]rune
	onAlt      bool
	x, y       int
	wrap       bool
	cursor     bool
	colors     int // color sequences so far
	frames     int // redraws from the top so far
	pending    []byte
	unknown    []string
}

func newEmulator(cols, rows int) *emulator {
	e := &emulator{wrap: true, cursor: true}
	e.resize(cols, rows)
	return e
}

func blank(cols, rows int) [][]rune {
	lines := make([][]rune, rows)
	for i := range lines {
		lines[i] = []rune(strings.Repeat(" ", cols))
	}
	return lines
}

// resize resizes the screen as most terminals do, without wrapping lines again.
func (e *emulator) resize(cols, rows int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fit := func(old [][]rune) [][]rune {
		lines := blank(cols, rows)
		for i := range min(rows, len(old)) {
			copy(lines[i], old[i])
		}
		return lines
	}
	e.main, e.alt = fit(e.main), fit(e.alt)
	e.cols, e.rows = cols, rows
	e.x, e.y = min(e.x, cols-1), min(e.y, rows-1)
}

func (e *emulator) lines() [][]rune {
	if e.onAlt {
		return e.alt
	}
	return e.main
}

// text returns what is on the screen, without spaces at the ends of lines and empty lines at
// the end.
func (e *emulator) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines []string
	for _, line := range e.lines() {
		lines = append(lines, strings.TrimRight(string(line), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func (e *emulator) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pending = append(e.pending, p...)
	for len(e.pending) > 0 {
		n := e.consume()
		if n == 0 {
			break // a sequence that is not complete yet
		}
		e.pending = e.pending[n:]
	}
	return len(p), nil
}

// consume executes the first pending character or sequence, and returns its length.
func (e *emulator) consume() int {
	if e.pending[0] == 0x1b {
		return e.escape()
	}
	if !utf8.FullRune(e.pending) {
		return 0
	}
	r, n := utf8.DecodeRune(e.pending)
	switch {
	case r == '\r':
		e.x = 0
	case r == '\n':
		e.newline()
	case r < ' ' || r == 0x7f:
		e.unknown = append(e.unknown, fmt.Sprintf("control character %q", r))
	default:
		e.put(r)
	}
	return n
}

func (e *emulator) put(r rune) {
	if e.x == e.cols {
		if !e.wrap {
			e.lines()[e.y][e.cols-1] = r
			return
		}
		e.x = 0
		e.newline()
	}
	e.lines()[e.y][e.x] = r
	e.x++
}

func (e *emulator) newline() {
	if e.y++; e.y < e.rows {
		return
	}
	e.y = e.rows - 1
	if e.onAlt {
		e.unknown = append(e.unknown, "the screen scrolled")
	}
	lines := e.lines()
	copy(lines, lines[1:])
	lines[e.rows-1] = []rune(strings.Repeat(" ", e.cols))
}

// escape executes a sequence: ESC [ parameters letter.
func (e *emulator) escape() int {
	if len(e.pending) < 2 {
		return 0
	}
	end := 2
	for ; end < len(e.pending); end++ {
		if c := e.pending[end]; c >= '@' && c <= '~' {
			break
		}
	}
	if end == len(e.pending) {
		return 0
	}
	e.do(string(e.pending[2:end]), e.pending[end])
	return end + 1
}

func (e *emulator) do(parameters string, letter byte) {
	switch sequence := parameters + string(letter); sequence {
	case "H":
		e.x, e.y = 0, 0
		e.frames++
	case "K":
		e.clear(e.y, min(e.x, e.cols))
	case "J":
		e.clear(e.y, min(e.x, e.cols))
		for y := e.y + 1; y < e.rows; y++ {
			e.clear(y, 0)
		}
	case "?1049h":
		e.onAlt, e.alt, e.x, e.y = true, blank(e.cols, e.rows), 0, 0
	case "?1049l":
		e.onAlt, e.x = false, 0
		e.y = e.free()
	case "?25h", "?25l":
		e.cursor = letter == 'h'
	case "?7h", "?7l":
		e.wrap = letter == 'h'
	default:
		if _, err := strconv.Atoi(strings.TrimPrefix(parameters, "38;5;")); letter == 'm' && err == nil {
			e.colors++
			return
		}
		e.unknown = append(e.unknown, "sequence "+strconv.Quote(sequence))
	}
}

// free returns the first line below all that was written.
func (e *emulator) free() int {
	for y := e.rows - 1; y > 0; y-- {
		if strings.TrimSpace(string(e.main[y-1])) != "" {
			return y
		}
	}
	return 0
}

func (e *emulator) clear(y, from int) {
	for x := from; x < e.cols; x++ {
		e.lines()[y][x] = ' '
	}
}
