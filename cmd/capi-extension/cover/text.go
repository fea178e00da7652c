package cover

import (
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Step is the change of version that a request is about.
type Step struct{ From, To version.Version }

// replacement is a text that stands for the old version, and what replaces it.
type replacement struct{ from, to string }

// replacements returns the forms of the old version, the longest first: v1.34.3 and 1.34.3 and, if the
// minor changes, v1.34 and 1.34.
func (s Step) replacements() []replacement {
	if s.From == s.To {
		return nil
	}
	from, to := s.From.String(), s.To.String()
	all := []replacement{{from, to}, {from[1:], to[1:]}}
	if !s.From.SameLine(s.To) {
		from, to := s.From.Line(), s.To.Line()
		all = append(all, replacement{from, to}, replacement{from[1:], to[1:]})
	}
	return all
}

// Covers reports whether desired is current with some mentions of the old version replaced by the new
// one. Each mention may stay, as a comment such as "needed since v1.34" does.
func (s Step) Covers(current, desired string) bool {
	forms := s.replacements()
	// ends are the lengths of the beginnings of desired that the text so far can have become.
	// There are several where one version begins like the other: v1.34.1 and v1.34.10.
	ends := map[int]bool{0: true}
	advance := func(texts ...string) {
		next := map[int]bool{}
		for end := range ends {
			for _, text := range texts {
				if strings.HasPrefix(desired[end:], text) {
					next[end+len(text)] = true
				}
			}
		}
		ends = next
	}
	rest := 0
	for at := 0; at < len(current) && len(ends) > 0; at++ {
		form, found := mentionAt(current, at, forms)
		if !found {
			continue
		}
		advance(current[rest:at])
		advance(form.from, form.to)
		rest = at + len(form.from)
		at = rest - 1
	}
	advance(current[rest:])
	return ends[len(desired)]
}

// mentionAt returns which form of the old version stands at a place of a text, as a word of its own.
func mentionAt(text string, at int, forms []replacement) (replacement, bool) {
	for _, form := range forms {
		if strings.HasPrefix(text[at:], form.from) && beginsWord(text, at) && endsWord(text, at+len(form.from)) {
			return form, true
		}
	}
	return replacement{}, false
}

// beginsWord reports whether what stands before a version does not belong to it: 10.1.34.3 is an
// address.
func beginsWord(text string, at int) bool {
	return at == 0 || !alphanumeric(text[at-1]) && text[at-1] != '.'
}

// endsWord reports whether what follows a version does not belong to it. A dot does only before a
// digit: v1.34.conf is a file, and v1.34.3 is not a mention of v1.34.
func endsWord(text string, at int) bool {
	if at == len(text) {
		return true
	}
	if text[at] == '.' {
		return at+1 == len(text) || !digit(text[at+1])
	}
	return !alphanumeric(text[at])
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func alphanumeric(c byte) bool {
	return digit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
