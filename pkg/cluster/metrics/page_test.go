package metrics_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metrics"
)

var update = flag.Bool("update", false, "write testdata and the table of docs/metrics.md")

const (
	tableBegins = "<!-- what follows is written by go test ./pkg/cluster/metrics -update -->\n"
	tableEnds   = "<!-- end of what is written -->"
)

// TestPage checks that the table of docs/metrics.md is the code's.
func TestPage(t *testing.T) {
	const page = "../../../docs/metrics.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), tableBegins)
	_, after, ended := strings.Cut(rest, tableEnds)
	if !begun || !ended {
		t.Fatalf("%s has no place for the table", page)
	}
	compare(t, page, before+tableBegins+table()+tableEnds+after)
}

func table() string {
	var b strings.Builder
	for _, each := range []bool{false, true} {
		title := "Of the fleet, from the leader"
		if each {
			title = "Of each replica"
		}
		fmt.Fprintf(&b, "\n## %s\n\n| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n", title)
		for _, row := range metrics.Table {
			if row.EachReplica == each {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", row.FullName(), strings.TrimSpace(string(row.Type)+" "+inUnit(row)), labels(row), row.Help)
			}
		}
	}
	return b.String() + "\n"
}

func inUnit(row metrics.Metric) string {
	if row.Unit == "" {
		return ""
	}
	return "(" + row.Unit + ")"
}

func labels(row metrics.Metric) string {
	if len(row.Labels) == 0 {
		return ""
	}
	return "`" + strings.Join(row.Labels, "`, `") + "`"
}

// compare compares a file with what it should be, or writes it with -update.
func compare(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("%s (-file +run); go test ./pkg/cluster/metrics -update writes it:\n%s", file, diff)
	}
}
