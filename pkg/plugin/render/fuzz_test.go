package render_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
)

// FuzzSanitize checks that Sanitize leaves no control sequences, except our colors if those are
// kept.
func FuzzSanitize(f *testing.F) {
	f.Add("a\x1b[31mred\x1b[0m\x1b[2J", true)
	f.Add("\u009b2J\u202e\xff", false)
	f.Fuzz(func(t *testing.T, text string, colors bool) {
		got := render.Sanitize(text, colors)
		if colors {
			for _, own := range []string{"0", "1", "2", "31", "32", "38;5;130", "36"} {
				got = strings.ReplaceAll(got, "\x1b["+own+"m", "")
			}
		}
		for _, r := range got {
			if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%q is shown as %q", text, got)
			}
		}
	})
}
