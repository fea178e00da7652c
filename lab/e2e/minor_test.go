//go:build e2e

package e2e

import (
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

const (
	minorFrom = "v1.34.4"
	minorTo   = "v1.35.4"
)

// anywhere lets the web service's pods run on control planes too, as there is one worker only.
const anywhere = `{"spec":{"template":{"spec":{"tolerations":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists","effect":"NoSchedule"}]}}}}`

// TestMinor upgrades a highly available cluster to the next minor with one command, and checks
// from outside that its services answer meanwhile: `make e2e-minor`.
func TestMinor(t *testing.T) {
	c := newCluster(t, 3, 1, "--version", minorFrom)
	c.startClient(t)
	c.must(t)(c.Kube(c.ctx, "-n", "default", "patch", "deployment", "web", "--type", "merge", "-p", anywhere))
	c.must(t)(c.Kube(c.ctx, "-n", "default", "rollout", "status", "deployment/web", "--timeout", "2m"))
	c.apply(t, scenario.Automatic(v1alpha1.TypePatch))
	c.apply(t, scenario.OpenSchedule)
	c.must(t)(c.Lab.Lab(c.ctx, "publish", minorTo))
	steps := []struct {
		name string
		run  func(*testing.T)
	}{
		{"a skipped minor is refused", c.skipRefused},
		{"a freeze refuses, whatever the schedule", c.freezeRefuses},
		{"a blocking finding refuses, and is ignored by its id", c.findingRefuses},
		{"one apply takes every node to the minor", c.oneApply},
		{"every node is completely upgraded", c.checkMinorUpgraded},
		{"the promises held at every moment", c.checkMinorPromises},
		{"the web service answered every request", c.checkServed},
		{"the history has the upgrade", c.checkMinorHistory},
	}
	for _, step := range steps {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// oneApply runs the whole upgrade with one command, which ends with it.
func (c *testCluster) oneApply(t *testing.T) {
	c.watchControlPlane(t)
	began := time.Now()
	said := c.must(t)(c.Upgrade(c.ctx, "apply", "v1.35", "--yes", "--ignore-check", preflight.LastBackend+"="+whyIgnored, "--timeout", "40m"))
	t.Logf("kubectl upgrade apply v1.35 took %s:\n%s", time.Since(began).Round(time.Second), said)
	upgrade, err := c.ours.ClusterUpgrades.Get(c.ctx, minorTo, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if upgrade.Status.Outcome != v1alpha1.OutcomeSucceeded || upgrade.Status.Type != v1alpha1.TypeMinor {
		t.Fatalf("%s: got type %s and outcome %q, want Minor and Succeeded", upgrade.Name, upgrade.Status.Type, upgrade.Status.Outcome)
	}
	c.checkIgnoredRecorded(t)
	nodes := c.nodeRecords(t, minorTo)
	scenario.Timeline(os.Stdout, nodes)
	shares := scenario.Shares(nodes, upgrade.Status.TriggerTime.Time, upgrade.Status.EndTime.Time)
	scenario.PrintShares(os.Stdout, shares)
}

// checkMinorPromises checks every recorded moment, and the answers to all probes.
func (c *testCluster) checkMinorPromises(t *testing.T) {
	c.checkSlots(t, 1)
	c.report(t)(record.Skew(c.recorder.Moments()))
	c.checkControlPlaneAnswered(t)
	c.checkReboots(t, map[string]int{"cp1": 1, "cp2": 1, "cp3": 1, "w1": 1})
}
