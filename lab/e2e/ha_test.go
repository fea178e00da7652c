//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestThreeControlPlanes installs a patch on plain Flatcar nodes, whose own timer activates
// each new image. Meanwhile a control-plane node loses power while it is drained, is NotReady
// for a while, and comes back, and the leading coordinator is deleted. It takes about twenty
// minutes: `make e2e-ha`.
func TestThreeControlPlanes(t *testing.T) {
	c := newCluster(t, 3, 1, "--raw-flatcar")
	c.eventually(t, time.Minute, "every node's own timer is disarmed", c.disarmed)
	c.apply(t, scenario.Automatic(v1alpha1.TypePatch))
	c.apply(t, scenario.OpenSchedule)
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to))

	c.eventually(t, 15*time.Minute, "cp2 is draining", func() error { return c.at("cp2", v1alpha1.StepDraining) })
	c.must(t)(c.Lab.Lab(c.ctx, "kill", "cp2"))
	c.eventually(t, 2*time.Minute, "cp2 is NotReady", func() error { return c.notReady("cp2") })
	c.must(t)(c.Kube(c.ctx, "-n", v1alpha1.Namespace, "delete", "pod", "-l", "app.kubernetes.io/component=coordinator", "--grace-period=0", "--force"))
	t.Log("\n" + c.must(t)(c.Upgrade(c.ctx, "status")))
	time.Sleep(30 * time.Second)
	c.must(t)(c.Lab.Lab(c.ctx, "start", "cp2"))

	c.eventually(t, 15*time.Minute, "every node runs "+to, c.everyNodeDone)
	c.eventually(t, time.Minute, "the upgrade has succeeded", func() error { return c.upgradeSucceeded(to) })
	scenario.Timeline(os.Stdout, c.nodeRecords(t, to))
	for _, name := range c.nodes {
		c.checkActive(t, name, to)
	}
	c.checkSlots(t, 1)
	c.checkHours(t, "cp2")
	c.checkReboots(t, map[string]int{"cp1": 1, "cp2": 2, "cp3": 1, "w1": 1})
}

// disarmed returns an error unless the timer's service has nothing to activate.
func (c *testCluster) disarmed() error {
	for _, node := range c.nodes {
		conf, err := c.Exec(c.ctx, node, "sh", "-c", "cat /etc/sysupdate.kubernetes.d/*.conf; ! grep -q ^CurrentSymlink= /etc/sysupdate.kubernetes.d/*.conf")
		if err != nil {
			return fmt.Errorf("%s: %s", node, conf)
		}
	}
	return nil
}

func (c *testCluster) at(node string, step v1alpha1.Step) error {
	upgrade, err := c.ours.NodeUpgrades.Get(c.ctx, node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if upgrade.Status.Step != step {
		return errors.New(describe(*upgrade))
	}
	return nil
}

func (c *testCluster) notReady(name string) error {
	ctx, cancel := context.WithTimeout(c.ctx, 10*time.Second)
	defer cancel()
	node, err := c.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == "Ready" && condition.Status == "True" {
			return fmt.Errorf("%s is still Ready", name)
		}
	}
	return nil
}
