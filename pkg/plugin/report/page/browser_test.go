//go:build browser

package page_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/upgradesample"
)

var pictures = flag.Bool("pictures", false, "only write docs/images")

// TestBrowser opens reports in Debian's Chromium. `make test-report` installs what it needs.
func TestBrowser(t *testing.T) {
	if os.Getenv("BROWSER") == "" {
		t.Fatal("BROWSER is not set: `make test-report` runs this test")
	}
	dir := t.TempDir()
	var files []string
	for _, sample := range []struct {
		name string
		of   func() (clusterstate.Snapshot, time.Time)
	}{
		{"ended.html", upgradesample.Example},
		{"running.html", upgradesample.Running},
		{"large.html", func() (clusterstate.Snapshot, time.Time) { return upgradesample.Fleet(300) }},
		{"fleet.html", func() (clusterstate.Snapshot, time.Time) { return upgradesample.Fleet(5000) }},
	} {
		file := filepath.Join(dir, sample.name)
		if err := os.WriteFile(file, write(t, made(t, sample.of)), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	last := len(files) - 1
	if !*pictures {
		run(t, append(append([]string{"check.mjs"}, files[:last]...), "--open-only", files[last])...)
		return
	}
	run(t, "pictures.mjs", dir, filepath.Join(apitest.Root(t), "docs", "images"))
}

func run(t *testing.T, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "node", args...)
	command.Dir = os.Getenv("BROWSER")
	out, err := command.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("node %s: %v", args[0], err)
	}
}
