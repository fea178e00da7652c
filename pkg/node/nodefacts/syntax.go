package nodefacts

import (
	"errors"
	"strings"
)

var errQuote = errors.New("a quotation mark is not closed")

// lines returns the lines of a unit or an environment file, without comments and empty
// lines. Lines that a backslash continues are joined (systemd.syntax(7)).
func lines(text string) []string {
	var all []string
	var begun string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		if more, ok := strings.CutSuffix(line, `\`); ok {
			begun += more + " "
			continue
		}
		if line = strings.TrimSpace(begun + line); line != "" {
			all = append(all, line)
		}
		begun = ""
	}
	if begun = strings.TrimSpace(begun); begun != "" {
		all = append(all, begun)
	}
	return all
}

// words splits text at white space outside quotation marks, and removes the marks.
func words(text string) ([]string, error) {
	var all []string
	var word strings.Builder
	var quote rune
	begun, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			begun, quote = true, r
		case quote == 0 && strings.ContainsRune(" \t\n\r", r):
			if begun {
				all = append(all, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, errQuote
	}
	if begun {
		all = append(all, word.String())
	}
	return all, nil
}
