//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// kuredState prints what a changeover changes of the stand-in for kured.
const kuredState = `jsonpath={.spec.template.spec}{"\n"}{.metadata.annotations.kubectl-upgrade\.dev/paused}{"\n"}{.status.desiredNumberScheduled}`

func (c *testCluster) kured(t *testing.T) string {
	t.Helper()
	return c.must(t)(c.Kube(c.ctx, "-n", "kube-system", "get", "daemonset", "kured", "-o", kuredState))
}

// TestMigrate changes over from a stand-in for kured, has a node rebooted, and goes back.
func TestMigrate(t *testing.T) {
	c := newLab(t, 1, 1)
	files := c.filesOf(t)
	c.must(t)(c.Kube(c.ctx, "apply", "-f", filepath.Join(c.root, "lab", "manifests", "kured.yaml")))
	c.must(t)(c.Kube(c.ctx, "-n", "kube-system", "rollout", "status", "daemonset/kured", "--timeout", "3m"))
	before := c.kured(t)
	if before[strings.LastIndexByte(before, '\n')+1:] != "2" {
		t.Fatalf("the stand-in does not run on both nodes:\n%s", before)
	}

	// Before the installation.
	if out := c.must(t)(c.Upgrade(c.ctx, "doctor")); !strings.Contains(out, "kubectl-upgrade is not installed") {
		t.Errorf("kubectl upgrade doctor:\n%s", out)
	}
	if out := c.must(t)(c.Upgrade(c.ctx, "migrate", "kured")); !strings.Contains(out, "strategy.drain.timeoutSeconds: 300") || !strings.Contains(out, "all the same") {
		t.Errorf("kubectl upgrade migrate kured:\n%s", out)
	}

	if err := c.InstallObserved(c.ctx, c.root, filepath.Join(c.root, "bin", "node-agent.tar")); err != nil {
		t.Fatal(err)
	}
	c.connect(t)
	for _, name := range c.nodes {
		c.eventually(t, 2*time.Minute, name+" is observed", func() error { return c.managed(name, metav1.ConditionFalse) })
	}
	c.eventually(t, 3*time.Minute, "kubectl upgrade doctor finds nothing that blocks", func() error {
		out, err := c.Upgrade(c.ctx, "doctor")
		if err == nil && !strings.Contains(out, "kured is installed") {
			err = fmt.Errorf("it does not find kured:\n%s", out)
		}
		return err
	})

	// Not while kured holds its lock.
	const lock = "weave.works/kured-node-lock"
	c.must(t)(c.Kube(c.ctx, "-n", "kube-system", "annotate", "daemonset", "kured", lock+`={"nodeID":"w1"}`))
	if out, err := c.Upgrade(c.ctx, "migrate", "kured", "--apply", "--yes"); err == nil || !strings.Contains(out+err.Error(), "kured holds its lock for node w1") {
		t.Errorf("with the lock held: %v\n%s", err, out)
	}
	c.must(t)(c.Kube(c.ctx, "-n", "kube-system", "annotate", "daemonset", "kured", lock+"-"))

	c.must(t)(c.Upgrade(c.ctx, "migrate", "kured", "--apply", "--yes"))
	if pods := c.must(t)(c.Kube(c.ctx, "-n", "kube-system", "get", "pods", "-l", "name=kured", "-o", "name")); strings.TrimSpace(pods) != "" {
		t.Errorf("pods of kured are left: %s", pods)
	}
	for _, name := range c.nodes {
		c.eventually(t, 5*time.Minute, name+" is managed", func() error { return c.managed(name, metav1.ConditionTrue) })
	}

	// A node that asks for a reboot is rebooted.
	started := c.must(t)(c.Exec(c.ctx, "w1", "systemctl", "show", "-p", "UserspaceTimestampMonotonic"))
	c.must(t)(c.Exec(c.ctx, "w1", "touch", "/run/reboot-required"))
	c.awaitRebootRequired(t, "w1", "/run/reboot-required", 6*time.Minute)
	c.eventually(t, 10*time.Minute, "w1 is rebooted", func() error {
		list, err := c.ours.ClusterUpgrades.List(c.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, u := range list.Items {
			if u.Spec.Type == v1alpha1.TypeReboot && u.Status.Outcome == v1alpha1.OutcomeSucceeded {
				return nil
			}
		}
		return fmt.Errorf("%d upgrades, none has succeeded", len(list.Items))
	})
	if now := c.must(t)(c.Exec(c.ctx, "w1", "systemctl", "show", "-p", "UserspaceTimestampMonotonic")); now == started {
		t.Errorf("w1 was not rebooted: %s is still when it started", now)
	}

	// Back.
	c.must(t)(c.Upgrade(c.ctx, "migrate", "kured", "--undo", "--yes"))
	for _, name := range c.nodes {
		if err := c.managed(name, metav1.ConditionFalse); err != nil {
			t.Error(err)
		}
	}
	c.must(t)(c.Kube(c.ctx, "-n", "kube-system", "rollout", "status", "daemonset/kured", "--timeout", "3m"))
	if diff := cmp.Diff(before, c.kured(t)); diff != "" {
		t.Errorf("kured is not as it was (-before +after):\n%s", diff)
	}
	if left := c.must(t)(c.Kube(c.ctx, "get", "maintenanceschedules", "-o", "name")); strings.TrimSpace(left) != "" {
		t.Errorf("schedules are left: %s", left)
	}
	for name, after := range c.filesOf(t) {
		if diff := cmp.Diff(files[name], after); diff != "" {
			t.Errorf("%s is not as it was (-before +after):\n%s", name, diff)
		}
	}
}
