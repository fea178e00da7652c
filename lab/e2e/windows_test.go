//go:build e2e

package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
)

// upgradeName is what the person of this story calls the upgrade.
const upgradeName = "quarterly"

// twoAtOnce asks for it: a few first, then the rest.
const twoAtOnce = `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: ` + upgradeName + `}
spec:
  version: ` + to + `
  strategy:
    maxUnavailable: 2
    settleSeconds: 20
    drain: {timeoutSeconds: 600}
    groups:
      - {name: canary, nodeSelector: {matchLabels: {pool: canary}}}
      - {name: rest, nodeSelector: {matchExpressions: [{key: pool, operator: NotIn, values: [canary]}]}}
`

// rollout is the story's cluster, and what one part of it leaves to the next.
type rollout struct {
	*world
	predicted []predicted // by `kubectl upgrade plan` at the beginning
	next      time.Time   // when the second window opens
}

// TestWindowsFreezesAndBudgets takes one rollout through everything that may
// stop it: each part begins where the one before it ended.
func TestWindowsFreezesAndBudgets(t *testing.T) {
	began := time.Now()
	r := &rollout{world: newWorld(t, 1, 5)}
	r.startClient(t)
	steps := []struct {
		name string
		run  func(*testing.T)
	}{
		{"the control plane goes first", r.controlPlaneFirst},
		{"two at once, and the next group after them", r.canaries},
		{"a freeze in the middle of the rollout", r.freeze},
		{"a window that ends in the middle of the rollout", r.windowEnds},
		{"suspended in the middle of the next window", r.suspend},
		{"every node runs the patch", r.finished},
		{"every node is as wanted", func(t *testing.T) { r.asWanted(t) }},
		{"the promises held at every moment", r.kept},
		{"the web service answered every request", r.served},
	}
	for _, step := range steps {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
	t.Logf("the whole story took %s", time.Since(began).Round(time.Second))
}

func (r *rollout) finished(t *testing.T) {
	r.eventually(t, 5*time.Minute, "every node runs "+to, r.everyNodeDone)
	r.eventually(t, time.Minute, "the upgrade is recorded as succeeded", func() error { return r.recorded(upgradeName) })
	t.Log("\n" + r.must(t)(r.Upgrade(r.ctx, "status")))
	scenario.Timeline(os.Stdout, r.courses(t, upgradeName))
}

// kept looks at every recorded moment.
func (r *rollout) kept(t *testing.T) {
	r.promised(t, 2)
	r.inHours(t)
	r.rebooted(t, map[string]int{"cp1": 1, "w1": 1, "w2": 1, "w3": 1, "w4": 1, "w5": 1})
	moments := r.recorder.Moments()
	r.unbroken(t)(record.InOrder(moments, to, []string{"cp1"}, []string{"w1", "w2"}, []string{"w3", "w4", "w5"}))
	together, err := record.Together(moments)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"w1", "w2"}, {"w3", "w4"}, {"w4", "w5"}}, together); diff != "" {
		t.Errorf("nodes that were down at once (-want +got):\n%s", diff)
	}
	r.asPredicted(t, moments)
}
