//go:build skew

package skew

import (
	"fmt"
	"os"
	"strings"
	"time"
)

const pageHead = `# Skew of plugin and cluster

<!-- Written by the tests: make test-skew. -->

Every verb of the plugin with CRDs, admission policies, coordinator and agents of another version: it works, or one line says what to update. The nodes are [pretended](../../docs/play.md). Today's is commit %s, run on %s; the former version is %s. Their programs call themselves v0.2.0 and v0.1.0. The plugin of the first former version compares no versions: it does not say that it shows less, and its refusals do not name the plugin as the older part. What is refused changes nothing.

| verb | former plugin, today's cluster | today's plugin, former cluster | both today's |
| --- | --- | --- | --- |
`

// longest is how much of a text is shown: an API server may repeat a whole object.
const longest = 300

// page returns the page of results.
func (f *results) page() string {
	var b strings.Builder
	today, former, _ := strings.Cut(os.Getenv("BUILDS"), " ")
	fmt.Fprintf(&b, pageHead, today, time.Now().UTC().Format(time.DateOnly), former)
	for i, r := range rows {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.verb, strings.Join(f.cells[i], " | "))
	}
	b.WriteString("\n## What is said, by the last line, or not shown\n\n")
	for _, s := range f.said {
		lines := strings.Split(strings.TrimSpace(s.text), "\n")
		text := []rune(lines[len(lines)-1])
		if len(text) > longest {
			text = append(text[:longest], '…')
		}
		fmt.Fprintf(&b, "- %s, `%s`: %s\n", s.pair, s.verb, strings.ReplaceAll(string(text), "<", "&lt;"))
	}
	return b.String()
}
