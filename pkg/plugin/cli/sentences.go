package cli

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
)

// sentences is an io.Writer for errors, warnings, questions and answers. A line that is too long for the terminal is
// broken between words: the terminal would break it inside of words and names. Elsewhere a line stays one, for scripts.
type sentences struct {
	out     io.Writer
	columns func() int // of the terminal; 0: it is none
}

// sentencesTo returns one that writes to out, which goes to file.
func sentencesTo(out, file io.Writer) sentences {
	return sentences{out, func() int {
		columns, _, _ := terminalSize(file)
		return columns
	}}
}

// terminalSize returns the size of the terminal that out is, if it is one.
func terminalSize(out io.Writer) (columns, rows int, yes bool) {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0, 0, false
	}
	columns, rows, err := term.GetSize(int(file.Fd()))
	return columns, rows, err == nil
}

// Write is part of io.Writer.
func (s sentences) Write(p []byte) (int, error) {
	columns, text := s.columns(), string(p)
	if columns > 0 {
		var b strings.Builder
		for line := range strings.Lines(text) {
			b.WriteString(broken(line, columns))
		}
		text = b.String()
	}
	if _, err := io.WriteString(s.out, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// broken returns the line as lines of at most so many columns, unless a word is longer. They keep its indentation, and
// the space after a question.
func broken(line string, columns int) string {
	text := strings.TrimSpace(line)
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	end := strings.TrimPrefix(line[len(indent):], text)
	return indent + strings.Join(render.Wrap(text, columns-len(indent)), "\n"+indent) + end
}
