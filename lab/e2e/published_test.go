//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestPublished makes a cluster of published files, with nothing in the cache and no Go on the
// machine, and upgrades it to a patch that is published too: `make e2e-published`.
func TestPublished(t *testing.T) {
	published := newMirror(t, from, to)
	withoutGo(t)
	cache := t.TempDir()
	t.Setenv("LAB_CACHE", cache)
	began := time.Now()
	c := newCluster(t, 1, 2, "--from", published.URL)
	t.Logf("a cluster of published files, with an empty cache, after %s", time.Since(began).Round(time.Second))
	c.startClient(t)
	c.apply(t, scenario.Automatic(v1alpha1.TypePatch))
	c.apply(t, scenario.OpenSchedule)
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to))
	c.eventually(t, 12*time.Minute, to+" has succeeded", func() error { return c.upgradeSucceeded(to) })
	c.checkUpgraded(t)
	c.report(t)(record.Promises(c.recorder.Moments(), 1))
	c.checkServed(t)
	for _, compiled := range []string{"kubernetes-*", "etcd-*"} {
		if found, _ := filepath.Glob(filepath.Join(cache, compiled)); len(found) > 0 {
			t.Errorf("something was compiled: %v", found)
		}
	}
}

// withoutGo takes the folders that have a program named go out of PATH.
func withoutGo(t *testing.T) {
	t.Helper()
	var kept []string
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(folder, "go")); err != nil {
			kept = append(kept, folder)
		}
	}
	t.Setenv("PATH", strings.Join(kept, string(filepath.ListSeparator)))
}
