package rights_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

const (
	tableBegins = "<!-- what follows is written by go test ./test/rights -update -->\n"
	tableEnds   = "<!-- end of what is written -->"
)

// leastRefused is how many tries must be refused at least, so that the table keeps the relevant
// ones.
var leastRefused = map[string]int{"agent": 70, "kubelet": 60, "coordinator": 40, "view": 60, "edit": 50, "Kubernetes' edit": 50}

// TestRightsOfIdentities tries every request with every identity, and compares the answers with
// lab/results/rights.md. An administrator tries each first: a request that fails for an administrator
// is invalid.
func TestRightsOfIdentities(t *testing.T) {
	config := install(t)
	admin := administrator(t, config)
	identities := []*identity{
		agent(t, config), kubelet(t, config, "worker-1"), coordinator(t, config),
		person(t, config, "kubectl-upgrade-view"), person(t, config, "kubectl-upgrade-edit"), person(t, config, "kubectl-upgrade-approve"),
		kubernetesEditor(t, config),
	}
	refused := map[string]int{}
	var table strings.Builder
	for _, group := range groups {
		fmt.Fprintf(&table, "\n**%s**\n\n", group.name)
		for _, try := range group.tries {
			if got := admin.try(t, try); (got.answer == allowed) == try.never {
				t.Errorf("%s: an administrator got %s: %s", try.what, got.answer, got.message)
			}
			by := map[string][]string{}
			for _, i := range identities {
				got := i.try(t, try)
				by[got.answer] = append(by[got.answer], i.name)
				if got.answer != allowed {
					refused[i.name]++
				}
			}
			fmt.Fprintf(&table, "- %s: %s%s\n", try.what, names(by[allowed]), refusals(by))
		}
	}
	table.WriteString("\n")
	for name, least := range leastRefused {
		if refused[name] < least {
			t.Errorf("%s was refused %d times, want at least %d", name, refused[name], least)
		}
	}
	t.Log(refused)
	compare(t, table.String())
}

// names returns the names of identities, as the table shows them.
func names(of []string) string {
	if len(of) == 0 {
		return "nobody"
	}
	return strings.Join(of, ", ")
}

// refusals returns who is refused by more than a missing permission, and by what.
func refusals(by map[string][]string) string {
	var all []string
	for _, answer := range []string{byPolicy, byPlugin} {
		if len(by[answer]) > 0 {
			all = append(all, strings.TrimPrefix(answer, "no, ")+" refuses "+strings.Join(by[answer], ", "))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, "; ") + ")"
}

// compare compares the table with lab/results/rights.md.
func compare(t *testing.T, table string) {
	t.Helper()
	page := filepath.Join(apitest.Root(t), "lab", "results", "rights.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), tableBegins)
	is, after, ended := strings.Cut(rest, tableEnds)
	if !begun || !ended {
		t.Fatalf("%s has no place for the table", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+tableBegins+table+tableEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(is, table); diff != "" {
		t.Errorf("lab/results/rights.md (-page +run), `go test ./test/rights -update` writes it:\n%s", diff)
	}
}
