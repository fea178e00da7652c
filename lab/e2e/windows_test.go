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

// upgradeName is the name of the upgrade.
const upgradeName = "quarterly"

// twoAtOnce is the upgrade: a group of canaries first, then the rest.
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

// rollout is the cluster of TestWindowsFreezesAndBudgets, with what one part leaves to the next.
type rollout struct {
	*testCluster
	predicted []predicted // by `kubectl upgrade plan` at the beginning
	next      time.Time   // when the second window opens
}

// TestWindowsFreezesAndBudgets stops one rollout in each way. Each part continues where the
// previous one ended.
func TestWindowsFreezesAndBudgets(t *testing.T) {
	began := time.Now()
	r := &rollout{testCluster: newCluster(t, 1, 5)}
	r.startClient(t)
	steps := []struct {
		name string
		run  func(*testing.T)
	}{
		{"the control plane goes first", r.controlPlaneFirst},
		{"the canaries go at once, before the next group", r.canaries},
		{"a freeze in the middle of the rollout", r.freeze},
		{"a window that ends in the middle of the rollout", r.windowEnds},
		{"a suspension in the middle of the next window", r.suspend},
		{"every node runs the patch", r.finished},
		{"every node is upgraded", func(t *testing.T) { r.checkUpgraded(t) }},
		{"the promises held at every moment", r.checkRollout},
		{"the web service answered every request", r.checkServed},
	}
	for _, step := range steps {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
	t.Logf("the whole test took %s", time.Since(began).Round(time.Second))
}

func (r *rollout) finished(t *testing.T) {
	r.eventually(t, 5*time.Minute, "every node runs "+to, r.everyNodeDone)
	r.eventually(t, time.Minute, "the upgrade has succeeded", func() error { return r.upgradeSucceeded(upgradeName) })
	t.Log("\n" + r.must(t)(r.Upgrade(r.ctx, "status")))
	scenario.Timeline(os.Stdout, r.nodeRecords(t, upgradeName))
}

// checkRollout checks every recorded moment.
func (r *rollout) checkRollout(t *testing.T) {
	r.checkSlots(t, 2)
	r.checkHours(t)
	r.checkReboots(t, map[string]int{"cp1": 1, "w1": 1, "w2": 1, "w3": 1, "w4": 1, "w5": 1})
	moments := r.recorder.Moments()
	r.report(t)(record.InOrder(moments, to, []string{"cp1"}, []string{"w1", "w2"}, []string{"w3", "w4", "w5"}))
	together, err := record.Together(moments)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"w1", "w2"}, {"w3", "w4"}, {"w4", "w5"}}, together); diff != "" {
		t.Errorf("the most nodes that were down at once (-want +got):\n%s", diff)
	}
	r.checkPredictedOrder(t, moments)
}
