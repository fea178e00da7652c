package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
