//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// withoutImage puts the image of Kubernetes in the place of its symlink, and takes the
// definitions of systemd-sysupdate away: no upgrade can change the version of such a node.
const withoutImage = `set -e
cp --remove-destination "$(readlink -f /etc/extensions/kubernetes.raw)" /etc/extensions/kubernetes.raw
mv /etc/sysupdate.kubernetes.d /root/sysupdate.kubernetes.d`

// sysupdateFiles lists what upgrades to a version change on a node.
const sysupdateFiles = `ls -lR --time-style=full-iso /etc/extensions /etc/sysupdate* /opt/extensions`

// TestRebootWithoutImage reboots a node whose Kubernetes does not come as a sysext image in
// the same way as the others, and checks that nothing of systemd-sysupdate is touched on it.
func TestRebootWithoutImage(t *testing.T) {
	c := newCluster(t, 1, 2, "--update-engine")
	c.must(t)(c.Exec(c.ctx, "w2", "sh", "-c", withoutImage))
	c.must(t)(c.Lab.Lab(c.ctx, "reboot", "w2"))
	c.eventually(t, 3*time.Minute, "w2 is unsupported", func() error {
		return c.unsupported("w2")
	})
	c.checkStatus(t, "Unsupported")
	before := c.must(t)(c.Exec(c.ctx, "w2", "sh", "-c", sysupdateFiles))
	c.stopRecording()
	c.record()

	c.must(t)(c.Exec(c.ctx, "w2", "touch", "/run/reboot-required"))
	c.must(t)(c.Lab.Lab(c.ctx, "update-engine", "w1", "need-reboot"))
	r := &reboots{testCluster: c}
	r.awaitRebootRequired(t, "w1", "update_engine", time.Minute)
	r.awaitRebootRequired(t, "w2", "/run/reboot-required", 6*time.Minute) // the agent checks every five minutes
	c.apply(t, scenario.OpenSchedule)
	c.apply(t, `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: reboot}
spec: {type: Reboot}
`)
	c.eventually(t, 10*time.Minute, "the Reboot has succeeded", func() error { return c.upgradeSucceeded("reboot") })
	c.checkReboots(t, map[string]int{"cp1": 0, "w1": 1, "w2": 1})
	steps := c.nodeRecord(t, "reboot", "w2").Steps
	for _, step := range []v1alpha1.Step{v1alpha1.StepCordoning, v1alpha1.StepDraining, v1alpha1.StepRebooting, v1alpha1.StepSettling, v1alpha1.StepUncordoning} {
		if !slices.ContainsFunc(steps, func(s v1alpha1.StepTime) bool { return s.Step == step }) {
			t.Errorf("w2 was not at %s: %v", step, steps)
		}
	}
	if diff := cmp.Diff(before, c.must(t)(c.Exec(c.ctx, "w2", "sh", "-c", sysupdateFiles))); diff != "" {
		t.Errorf("files of w2 changed (-before +after):\n%s", diff)
	}
	c.eventually(t, time.Minute, "w2 is unsupported again", func() error { return c.unsupported("w2") })
	c.report(t)(record.Promises(c.recorder.Moments(), 1))
}

// unsupported returns an error unless the agent of the node says that versions are not
// upgraded there, and why.
func (c *testCluster) unsupported(name string) error {
	node, err := c.ours.NodeUpgrades.Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if node.Status.Step != v1alpha1.StepUnsupported || !strings.Contains(node.Status.ImageProblem.Text(), "is no symlink") {
		return fmt.Errorf("unsupported %q, %s", node.Status.ImageProblem.Text(), describe(*node))
	}
	return nil
}
