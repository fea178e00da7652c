package cover

import (
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Step is the change of version that a request is about. Both are the same if only texts change, such as
// a template's after the version has changed.
type Step struct{ From, To version.Version }

// Covers reports whether desired is current with some mentions of the old version, or an older one,
// replaced by the new one. A mention is the version or its minor, with or without the v. Each may stay,
// as a comment such as "needed since v1.34" does; and a text may be older than the version, if it was
// not changed with it the last time.
func (s Step) Covers(current, desired string) bool {
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
		mention, becomes := s.mentionAt(current, at)
		if mention == "" {
			continue
		}
		advance(current[rest:at])
		advance(mention, becomes)
		rest = at + len(mention)
		at = rest - 1
	}
	advance(current[rest:])
	return ends[len(desired)]
}

// mentionAt returns the mention of an older version that stands at a place of a text, as a word of its
// own, and what it may become. Both are empty: there is none.
func (s Step) mentionAt(text string, at int) (mention, becomes string) {
	if !beginsWord(text, at) {
		return "", ""
	}
	// With a pre-release or a build only the old version itself is recognized.
	from, to := s.From.String(), s.To.String()
	for _, without := range []int{0, 1} {
		if strings.HasPrefix(text[at:], from[without:]) && endsWord(text, at+len(from)-without) && s.From != s.To {
			return from[without:], to[without:]
		}
	}
	mention, numbers := numbersAt(text[at:])
	if len(numbers) < 2 || numbers[0] != s.To.Major || !endsWord(text, at+len(mention)) {
		return "", ""
	}
	line := s.To.Line()
	switch {
	case len(numbers) == 3 && (numbers[1] < s.To.Minor || numbers[1] == s.To.Minor && numbers[2] < s.To.Patch):
		becomes = to
	case len(numbers) == 2 && numbers[1] < s.To.Minor:
		becomes = line
	default:
		return "", ""
	}
	return mention, becomes[1-strings.Count(mention, "v"):]
}

// numbersAt reads v1.34.3, 1.34.3, v1.34 or 1.34 at the beginning of a text.
func numbersAt(text string) (word string, numbers []int) {
	at := 0
	if strings.HasPrefix(text, "v") {
		at++
	}
	for len(numbers) < 3 {
		begin := at
		if len(numbers) > 0 {
			if at >= len(text) || text[at] != '.' {
				break
			}
			begin++
		}
		number, end := 0, begin
		for ; end < len(text) && digit(text[end]) && end-begin < longestNumber; end++ {
			number = 10*number + int(text[end]-'0')
		}
		if end == begin {
			break
		}
		numbers, at = append(numbers, number), end
	}
	return text[:at], numbers
}

// longestNumber is how many digits a number of a version has at most.
const longestNumber = 4

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
