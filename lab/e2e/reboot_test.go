//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestRebootAndRestart reboots nodes whose operating systems require it, each in another way,
// and then installs a patch without reboots, except on one node that cannot restart, and whose
// operating system requires a reboot too.
func TestRebootAndRestart(t *testing.T) {
	c := newCluster(t, 1, 3, "--update-engine")
	c.startClient(t)
	r := &reboots{testCluster: c}
	steps := []struct {
		name string
		run  func(*testing.T)
	}{
		{"nodes that require a reboot wait for the window", r.requireReboots},
		{"in the window only these nodes reboot, one after the other", r.reboots},
		{"a patch needs neither drain nor reboot", r.restart},
		{"the pods of nodes that restarted are the same", r.checkSamePods},
		{"a node with a mount below /usr rebooted instead", r.checkFallback},
		{"the promises held at every moment", r.checkPromises},
		{"the web service answered every request", c.checkServed},
	}
	for _, step := range steps {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// reboots is the cluster of TestRebootAndRestart, with what one part leaves to the next.
type reboots struct {
	*testCluster
	opens  time.Time         // when the window opens
	before map[string]string // the containers of nodes that will restart
	screen string            // the output of kubectl upgrade status w3 while w3 worked
}

// wait is the time until the window opens.
const wait = 45 * time.Second

// window returns a schedule with a window of an hour.
func window(start time.Time) string {
	start = start.UTC().Truncate(time.Second)
	return fmt.Sprintf(`
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: MaintenanceSchedule
metadata: {name: lab}
spec:
  maintenanceWindows:
    - {name: soon, startTime: %q, endTime: %q}
`, start.Format(time.RFC3339), start.Add(time.Hour).Format(time.RFC3339))
}

func (r *reboots) requireReboots(t *testing.T) {
	r.must(t)(r.Exec(r.ctx, "cp1", "touch", "/run/reboot-required"))
	r.awaitRebootRequired(t, "cp1", "/run/reboot-required", 6*time.Minute) // the agent checks every five minutes
	r.opens = time.Now().Add(wait).Truncate(time.Second)                   // as the schedule has it
	r.apply(t, scenario.Automatic(v1alpha1.TypeReboot))
	r.apply(t, window(r.opens))
	r.must(t)(r.Lab.Lab(r.ctx, "update-engine", "w2", "need-reboot"))
	r.awaitRebootRequired(t, "w2", "update_engine", time.Minute)
	r.checkUndisturbed(t, time.Until(r.opens)-10*time.Second)
	list, err := r.ours.ClusterUpgrades.List(r.ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) > 0 {
		t.Fatalf("got upgrades %v and error %v before the window, want none", list, err)
	}
}

// awaitRebootRequired waits until the node reports that it requires a reboot because of by.
func (c *testCluster) awaitRebootRequired(t *testing.T, name, by string, within time.Duration) {
	t.Helper()
	c.eventually(t, within, name+" reports that it requires a reboot", func() error {
		node, err := c.ours.NodeUpgrades.Get(c.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if reboot := node.Status.Reboot; !reboot.Required || !strings.Contains(reboot.Message, by) {
			return fmt.Errorf("reboot required %t: %s", reboot.Required, reboot.Message)
		}
		return nil
	})
}

func (r *reboots) reboots(t *testing.T) {
	upgrade := ""
	r.eventually(t, 5*time.Minute, "the Reboot has succeeded", func() error {
		list, err := r.ours.ClusterUpgrades.List(r.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, u := range list.Items {
			if u.Spec.Type == v1alpha1.TypeReboot && strings.HasPrefix(u.Name, "reboot-") && u.Status.Outcome == v1alpha1.OutcomeSucceeded {
				upgrade = u.Name
				return nil
			}
		}
		return fmt.Errorf("got %d upgrades, and no Reboot among them that has succeeded", len(list.Items))
	})
	earliest := r.opens
	for _, name := range []string{"cp1", "w2"} { // the control plane first
		node, err := r.ours.NodeUpgrades.Get(r.ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if node.Status.Reboot.Required || node.Status.Versions.Kubelet != from {
			t.Errorf("%s: reboot required %t, kubelet %s", name, node.Status.Reboot.Required, node.Status.Versions.Kubelet)
		}
		for _, step := range r.nodeRecord(t, upgrade, name).Steps {
			if step.Step == v1alpha1.StepLocking && step.StartTime.Time.Before(earliest) {
				t.Errorf("%s began at %s, before %s", name, step.StartTime, earliest)
			}
			if step.Step == v1alpha1.StepUnlocking && step.EndTime != nil {
				earliest = step.EndTime.Time
			}
		}
	}
	for _, name := range r.nodes {
		r.checkActive(t, name, from)
	}
	r.checkReboots(t, map[string]int{"cp1": 1, "w1": 0, "w2": 1, "w3": 0})
	t.Log("\n" + r.must(t)(r.Upgrade(r.ctx, "status")))
}

func (r *reboots) checkPromises(t *testing.T) {
	r.report(t)(record.Promises(r.recorder.Moments(), 1))
}
