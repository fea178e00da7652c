package preflight_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// TestChecksAreDocumented checks that docs/checks.md matches the catalog. `go test
// ./pkg/cluster/preflight -update` writes it.
func TestChecksAreDocumented(t *testing.T) {
	golden(t, filepath.Join("..", "..", "..", "docs", "checks.md"), checksPage())
}

func checksPage() string {
	var page strings.Builder
	page.WriteString("# Checks before and during an upgrade\n\n" +
		"<!-- Generated from the catalog in pkg/cluster/preflight by `go test ./pkg/cluster/preflight -update`. -->\n\n" +
		"`kubectl upgrade plan` and `apply` show what these checks find. The coordinator makes them, too: when an upgrade\n" +
		"begins, and before each control plane.\n\n" +
		"**Block**: nothing begins until it is fixed; a finding that names a worker holds that worker alone. **Warn**: for\n" +
		"people to know. `kubectl upgrade apply --ignore-check ID=REASON`, or `spec.ignoreChecks` of the ClusterUpgrade, ignores a\n" +
		"check; its findings stay in the record. It does not help to ignore a check that is marked with !: there is no image,\n" +
		"Kubernetes itself refuses the step, or a later step waits for ever.\n")
	for _, family := range preflight.Catalog() {
		fmt.Fprintf(&page, "\n## %s\n\n", family.Title)
		for _, e := range family.Checks {
			var levels []string
			for _, level := range e.Levels {
				levels = append(levels, string(level))
			}
			level := strings.Join(levels, " or ")
			if !preflight.Ignorable(e.ID) {
				level += "!"
			}
			fmt.Fprintf(&page, "- `%s`, %s: %s. %s\n", e.ID, level, e.About, e.Advice)
		}
	}
	return page.String()
}

func TestCatalogIsComplete(t *testing.T) {
	id := regexp.MustCompile(`^[a-z]+[a-z0-9]*(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, family := range preflight.Catalog() {
		for _, e := range family.Checks {
			switch {
			case !id.MatchString(e.ID) || len(e.ID) > 64 || seen[e.ID]:
				t.Errorf("id %q cannot be ignored, or is in the catalog twice", e.ID)
			case len(e.Levels) == 0 || e.About == "" || strings.HasSuffix(e.About, ".") || !strings.ContainsAny(e.Advice[len(e.Advice)-1:], "./"):
				t.Errorf("%s is not described: %+v", e.ID, e)
			}
			seen[e.ID] = true
		}
	}
	if preflight.Known("no-such-check") || !preflight.Known("version-skip") {
		t.Error("Known does not know the ids")
	}
}
