package main

import "strings"

// join returns the YAML with each paragraph of a description in one line. Lists, and lines that are
// indented, keep their lines.
func join(text string) string {
	var out []string
	inside, open := -1, false // the indentation of a description's lines, and whether the last one takes more
	for line := range strings.SplitSeq(text, "\n") {
		content := strings.TrimLeft(line, " ")
		indent := len(line) - len(content)
		if content != "" && indent < inside {
			inside = -1
		}
		switch {
		case inside < 0:
			if content == "description: |-" {
				inside, open = indent+2, false
			}
		case content == "" || indent > inside || strings.HasPrefix(content, "- "):
			open = false
		case open:
			out[len(out)-1] += " " + content
			continue
		default:
			open = true
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
