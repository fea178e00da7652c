//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
)

// TestPatchReachesEveryNode installs a patch on a cluster after each fault that must not
// change a node. Each part continues where the previous one ended.
func TestPatchReachesEveryNode(t *testing.T) {
	c := newCluster(t, 1, 2)
	c.startClient(t)
	steps := []struct {
		name string
		run  func(*testing.T)
	}{
		{"a source that cannot be trusted activates nothing", c.badSources},
		{"images with wrong content activate nothing", c.badImages},
		{"a node that cannot stage stays in service", c.badNodes},
		{"with a closed window images are staged only", c.closedWindow},
		{"an exclusion in an open window holds every node", c.exclusion},
		{"the patch reaches every node", c.rollout},
		{"every node is upgraded", func(t *testing.T) { c.checkUpgraded(t, "w2") }},
		{"the remaining objects are small and complete", c.checkRemains},
		{"what people want to read is an event on the node", c.checkEvents},
		{"the promises held at every moment", c.checkPromises},
		{"the web service answered every request", c.checkServed},
	}
	for _, step := range steps {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// closedWindow checks that with a closed window images are staged, and nothing else is done.
func (c *testCluster) closedWindow(t *testing.T) {
	c.apply(t, scenario.ClosedSchedule(time.Now()))
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to))
	c.awaitEveryNodeHeld(t, "WindowClosed")
	c.checkStatus(t, "WindowClosed", to)
	began := time.Now()
	c.checkUndisturbed(t, 20*time.Second)
	c.checkOneReader(t, began)
	c.checkUnchanged(t)
	c.checkStaged(t)
}

// exclusion opens the window during a freeze, and checks that nothing is done.
func (c *testCluster) exclusion(t *testing.T) {
	c.apply(t, scenario.Freeze(time.Now()))
	c.apply(t, scenario.OpenSchedule)
	c.awaitEveryNodeHeld(t, "Excluded")
	c.checkStatus(t, "Excluded", "the lab is frozen")
	c.checkUndisturbed(t, 20*time.Second)
	c.checkUnchanged(t)
}

// rollout ends the freeze. A person has cordoned w2 before, and the agents of cp1 and w1 are
// killed at every step.
func (c *testCluster) rollout(t *testing.T) {
	c.must(t)(c.Kube(c.ctx, "cordon", "w2"))
	killers, stop := context.WithCancel(c.ctx)
	defer stop()
	killed := c.killAgents(killers, t)
	c.must(t)(c.Kube(c.ctx, "delete", "maintenanceschedule", "freeze"))
	c.eventually(t, 12*time.Minute, "every node runs "+to, c.everyNodeDone)
	stop()
	kills := killed()
	c.eventually(t, time.Minute, "the upgrade has succeeded", func() error { return c.upgradeSucceeded(to) })
	t.Log("\n" + c.must(t)(c.Upgrade(c.ctx, "status")))
	nodes := c.nodeRecords(t, to)
	for _, k := range kills {
		k.check(t, nodes)
	}
	scenario.Timeline(os.Stdout, nodes)
}

// checkPromises checks every recorded moment.
func (c *testCluster) checkPromises(t *testing.T) {
	c.checkSlots(t, 1, "w2")
	c.checkHours(t)
	c.checkReboots(t, map[string]int{"cp1": 1, "w1": 1, "w2": 1})
}

// checkServed checks that every request of the whole run was answered.
func (c *testCluster) checkServed(t *testing.T) {
	report := c.prober.Report()
	t.Logf("%d requests sent, %d answered, the slowest in %s", report.Sent, report.Answered, report.Slowest.Round(time.Millisecond))
	if report.Sent < 1000 {
		t.Errorf("only %d requests were sent", report.Sent)
	}
	for _, failure := range report.Failures {
		t.Error(c.told(failure.At, failure.Ended, fmt.Sprintf("%s: %v", failure.At.Format(time.TimeOnly), failure.Err)))
	}
}
