package plan_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
)

// TestMain checks the reason of every hold in all tests, but not in benchmarks.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		plan.CheckReasons()
	}
	m.Run()
}

// TestEveryReasonAndStepHasARow checks the tables: a reason or step without a row would
// silently have the defaults everywhere.
func TestEveryReasonAndStepHasARow(t *testing.T) {
	var reasons, steps []string
	for _, row := range v1alpha1.Reasons {
		reasons = append(reasons, string(row.Reason))
		if row.Giver == "" || row.Meaning == "" {
			t.Errorf("reason %s: the row has no giver or no meaning: %+v", row.Reason, row)
		}
	}
	for _, row := range v1alpha1.Steps {
		steps = append(steps, string(row.Step))
		if row.Phase == "" || row.Meaning == "" || row.Doing == "" {
			t.Errorf("step %s: the row has no phase, meaning or doing: %+v", row.Step, row)
		}
	}
	for _, table := range []struct {
		file, prefix string
		rows         []string
	}{{"reasons.go", "Reason", reasons}, {"steps.go", "Step", steps}} {
		if diff := cmp.Diff(constants(t, table.file, table.prefix), slices.Sorted(slices.Values(table.rows))); diff != "" {
			t.Errorf("the constants of %s do not have one row each (-constants +rows):\n%s", table.file, diff)
		}
	}
}

// constants returns the sorted values of the API's constants with that prefix.
func constants(t *testing.T, name, prefix string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "api", "v1alpha1", name), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, prefix) && len(spec.Values) == 1 {
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, value)
			}
		}
		return true
	})
	slices.Sort(values)
	return values
}

// TestReasonsAreDocumented checks that docs/reasons.md and the list in docs/planning.md
// match the code's tables. `go test ./pkg/cluster/plan -update` writes them.
func TestReasonsAreDocumented(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	checkPage(t, filepath.Join(docs, "reasons.md"), func(string) string { return reasonsPage() })
	checkPage(t, filepath.Join(docs, "planning.md"), func(page string) string {
		const header, end = "<!-- what is asked, written by go test ./pkg/cluster/plan -update -->\n\n", "\n\n"
		before, rest, found := strings.Cut(page, header)
		_, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatal("docs/planning.md has no list of what is asked")
		}
		return before + header + strings.TrimSuffix(plan.QuestionRows(), "\n") + end + after
	})
}

// checkPage compares a page with want, which may depend on the page.
func checkPage(t *testing.T, file string, want func(page string) string) {
	t.Helper()
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := want(string(got))
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(got), page); diff != "" {
		t.Errorf("%s differs from the code's tables (-got +want); go test ./pkg/cluster/plan -update writes it:\n%s", file, diff)
	}
}

func reasonsPage() string {
	var page strings.Builder
	page.WriteString("# Reasons\n\n<!-- Generated from pkg/api/v1alpha1/reasons.go by `go test ./pkg/cluster/plan -update`. -->\n\n" +
		"A node or an upgrade that waits says why, with one of these codes: in conditions, events, metrics, `status`\n" +
		"and `plan`. Where the table does not say how the wait ends, the node or upgrade goes on, or retries, as soon as the\n" +
		"reason's sentence is no longer true. The coordinator writes its reason for a node once the reason has lasted two seconds.\n" +
		"A node whose step is `Failed` or `RolledBack` may need a person ([node.md](node.md)).\n")
	for _, giver := range []struct {
		v1alpha1.Giver
		title string
	}{
		{v1alpha1.GivenByPlanner, "From the coordinator: why a node may not begin, or an upgrade waits"},
		{v1alpha1.GivenBySource, "About the source of images"},
		{v1alpha1.GivenByAgent, "From the agent, about its node"},
		{v1alpha1.GivenByPlugin, "From `kubectl upgrade status`, about kubectl-upgrade itself"},
	} {
		fmt.Fprintf(&page, "\n## %s\n\n| reason | means |\n| --- | --- |\n", giver.title)
		for _, row := range v1alpha1.Reasons {
			if row.Giver != giver.Giver {
				continue
			}
			fmt.Fprintf(&page, "| `%s` | %s%s |\n", row.Reason, row.Meaning, ends(row))
		}
	}
	return page.String()
}

// ends returns when the hold ends, if it is not by itself.
func ends(row v1alpha1.ReasonInfo) string {
	switch {
	case row.Ends != "":
		return ". Ends " + row.Ends
	case row.NeedsPerson && !row.HeldByPeople:
		return ". Needs a person"
	}
	return ""
}
