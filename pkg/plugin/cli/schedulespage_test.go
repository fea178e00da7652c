package cli_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

var update = flag.Bool("update", false, "rewrite docs/schedules.md and docs/json.txt")

// example is a schedule, a command about it, and what that prints.
var example = regexp.MustCompile("(?s)```yaml\n(.*?)```\n\n```console run\n\\$ kubectl upgrade (windows -f (\\S+) [^\n]*)\n(.*?)```")

// TestSchedulesPage checks that the page shows what the program prints in Berlin.
func TestSchedulesPage(t *testing.T) {
	page := filepath.Join(apitest.Root(t), "docs", "schedules.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	count := 0
	got := example.ReplaceAllStringFunc(string(text), func(whole string) string {
		m := example.FindStringSubmatch(whole)
		count++
		if err := os.WriteFile(m[3], []byte(m[1]), 0o644); err != nil {
			t.Fatal(err)
		}
		out, errOut, code := offline(t, append([]string{"--time-zone=Europe/Berlin"}, strings.Fields(m[2])...)...)
		if code != 0 || errOut != "" {
			t.Errorf("kubectl upgrade %s: got exit code %d and %q, want 0 and nothing", m[2], code, errOut)
		}
		return strings.TrimSuffix(whole, m[4]+"```") + out + "```"
	})
	if count != 10 {
		t.Errorf("the page has %d examples, want 10", count)
	}
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), got); diff != "" {
		t.Errorf("docs/schedules.md (-page +program):\n%s", diff)
	}
}
