package plan_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReasonsAreDocumented keeps docs/reasons.md what the constants in the API
// say. `go test ./pkg/plan -update` writes it.
func TestReasonsAreDocumented(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "reasons.md")
	want := reasonsPage(t)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("docs/reasons.md is not what the code says (go test ./pkg/plan -update writes it):\n%s", diff)
	}
}

func reasonsPage(t *testing.T) string {
	source := filepath.Join("..", "api", "v1alpha1", "reasons.go")
	file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	page.WriteString("# Reasons\n\n<!-- Generated from pkg/api/v1alpha1/reasons.go by `go test ./pkg/plan -update`. -->\n\n" +
		"Whoever waits says why, with one of these codes. The same code stands in a NodeUpgrade's status, in a ClusterUpgrade's\n" +
		"conditions, in events, and in what `kubectl upgrade status` and `plan` print.\n")
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		fmt.Fprintf(&page, "\n## %s\n\n| reason | means |\n| --- | --- |\n", strings.TrimSuffix(strings.Join(strings.Fields(group.Doc.Text()), " "), "."))
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			code, err := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
			if err != nil || strings.TrimSpace(value.Comment.Text()) == "" {
				t.Fatalf("%s has no comment that says what it means", value.Names[0].Name)
			}
			fmt.Fprintf(&page, "| `%s` | %s |\n", code, strings.TrimSpace(value.Comment.Text()))
		}
	}
	return page.String()
}
