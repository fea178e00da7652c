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

var update = flag.Bool("update", false, "write testdata and the table of docs/monitoring.md")

const (
	tableBegins = "<!-- what follows is written by go test ./pkg/cluster/metrics -update -->\n"
	tableEnds   = "<!-- end of what is written -->"
)

// TestPage checks that the table of docs/monitoring.md is the code's.
func TestPage(t *testing.T) {
	const page = "../../../docs/monitoring.md"
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
		title := "of the fleet, from the leader"
		if each {
			title = "of each replica"
		}
		fmt.Fprintf(&b, "\n| %s | meaning |\n| --- | --- |\n", title)
		for _, row := range metrics.Table {
			if row.EachReplica == each {
				fmt.Fprintf(&b, "| `%s` | %s |\n", name(row), meaning(row))
			}
		}
	}
	return b.String() + "\n"
}

// obvious has what the page says once for all metrics.
var obvious = strings.NewReplacer(", as Unix time", "", " Always 1.", "", "Information about ", "", "Number of ", "")

func meaning(row metrics.Metric) string {
	text := obvious.Replace(row.Help)
	return strings.ToUpper(text[:1]) + text[1:]
}

func name(row metrics.Metric) string {
	if len(row.Labels) == 0 {
		return row.FullName()
	}
	return row.FullName() + "{" + strings.Join(row.Labels, ",") + "}"
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
