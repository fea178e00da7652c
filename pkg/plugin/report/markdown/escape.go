package markdown

import (
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
)

// special are the letters that may mean something in the middle of a line.
const special = "\\`*_[]<>#|~&$"

// text returns text for a line or a cell. An address is no link, and @ does not mention a person.
func text(s string) string {
	var b strings.Builder
	for _, r := range render.Sanitize(s, false) {
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
			continue
		case strings.ContainsRune(special, r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return apart.Replace(strings.TrimSpace(b.String()))
}

// apart puts a comment, which is not shown, into what GitHub turns into links.
var apart = strings.NewReplacer("@", "@<!-- -->", "://", ":<!-- -->//", "www.", "www<!-- -->.")

// code returns text in the letters of code. A bar would end a cell, and a backtick the code.
func code(s string) string {
	s = strings.NewReplacer("`", "'", "|", "¦", "\n", " ", "\t", " ").Replace(render.Sanitize(s, false))
	if s == "" {
		return "–"
	}
	return "`" + s + "`"
}
