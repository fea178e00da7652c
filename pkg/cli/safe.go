package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
)

// safe is what all that people see goes through. A node's log, an object's message or
// an index of images may hold control characters; a terminal would obey them. They
// are shown as they stand in JSON instead, \u001b, so that JSON stays JSON.
type safe struct {
	out io.Writer
	// colors lets render's colors through. render takes those of others away.
	colors bool
}

// Write is part of io.Writer.
func (s safe) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.out, shown(string(p), s.colors)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// shown returns the text without control characters.
func shown(text string, colors bool) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		color := 0
		if colors {
			color = render.ColorLength(text)
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
