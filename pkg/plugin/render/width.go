package render

import (
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

// Widths are counted in columns of a terminal: a letter of an East Asian script takes two, and one that
// combines with the letter before it takes none (Unicode Standard Annex #11 and #29).

// textWidth returns how many columns a text takes.
func textWidth(text string) int { return uniseg.StringWidth(text) }

// letters returns what a terminal draws as one letter each.
func letters(text string) (list []string) {
	for state := -1; text != ""; {
		var letter string
		letter, text, _, state = uniseg.FirstGraphemeClusterInString(text, state)
		list = append(list, letter)
	}
	return list
}

// fitting returns how many of the letters, from the first one on, fit into that many columns.
func fitting(list []string, room int) int {
	for i, letter := range list {
		if room -= textWidth(letter); room < 0 {
			return i
		}
	}
	return len(list)
}

// beginning returns as much of a text's beginning as fits into that many columns.
func beginning(text string, room int) string {
	list := letters(text)
	return strings.Join(list[:fitting(list, room)], "")
}

// end returns as much of a text's end as fits into that many columns.
func end(text string, room int) string {
	list := letters(text)
	slices.Reverse(list)
	list = list[:fitting(list, room)]
	slices.Reverse(list)
	return strings.Join(list, "")
}
