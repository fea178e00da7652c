package preflight

import (
	"fmt"
	"slices"
	"strings"
)

// named is how many names a sentence lists.
const named = 3

// names returns the first few names, sorted and each once: "a, b, c and 4 more".
func names(list []string) string {
	list = slices.Compact(slices.Sorted(slices.Values(list)))
	if more := len(list) - named; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:named], ", "), more)
	}
	return strings.Join(list, ", ")
}

// nodeNames returns the names of the first few nodes.
func nodeNames(list []*node) string {
	var out []string
	for _, n := range list {
		out = append(out, n.name)
	}
	return names(out)
}

// plural returns "1 node" or "2 nodes".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
