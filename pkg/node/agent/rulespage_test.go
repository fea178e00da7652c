package agent

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table of docs/node.md")

// TestRulesPage checks that the table of rules in docs/node.md is the code's.
func TestRulesPage(t *testing.T) {
	const (
		page   = "../../../docs/node.md"
		begins = "<!-- what follows is written by go test ./pkg/node/agent -run TestRulesPage -update -->\n"
		ends   = "<!-- end of what is written -->"
	)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), begins)
	_, after, ended := strings.Cut(rest, ends)
	if !begun || !ended {
		t.Fatalf("%s has no place for the table", page)
	}
	want := before + begins + rulesTable() + ends + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(text), want); diff != "" {
		t.Errorf("%s differs (-file +code):\n%s", page, diff)
	}
}

func rulesTable() string {
	var b strings.Builder
	b.WriteString("\n| the rule | reads | before it begins | ahead of its turn | during the drain | last check |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, rule := range ruleTable {
		fmt.Fprintf(&b, "| %s | %s |", rule.asks, rule.reads.name)
		for _, at := range []moment{beforeItBegins, aheadOfItsTurn, duringTheDrain, untilTheLastCheck} {
			counts := ""
			if rule.at&at != 0 {
				counts = "×"
			}
			fmt.Fprintf(&b, " %s |", counts)
		}
		b.WriteString("\n")
	}
	return b.String() + "\n"
}
