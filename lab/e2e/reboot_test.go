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

// TestRebootAndRestart is one story: operating systems get the reboots that they
// ask for, each in its own way, then a patch comes without any, but for the one
// node that cannot do without, and whose operating system wants one too.
func TestRebootAndRestart(t *testing.T) {
	w := newWorld(t, 1, 3, "--update-engine")
	w.startClient(t)
	r := &reboots{world: w}
	steps := []struct {
		name string
		run  func(*testing.T)
	}{
		{"nodes whose operating systems ask for a reboot wait for their window", r.asks},
		{"in the window these nodes reboot, one after the other, and no other", r.reboots},
		{"a patch comes without drain and reboot", r.restart},
		{"the pods of nodes that restarted are the same", r.samePods},
		{"a node with a mount below /usr rebooted instead, and says so", r.fellBack},
		{"the promises held at every moment", r.promises},
		{"the web service answered every request", w.served},
	}
	for _, step := range steps {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// reboots is the story so far.
type reboots struct {
	*world
	opens  time.Time         // when the window does
	before map[string]string // the containers of nodes that are to restart
	screen string            // what kubectl upgrade status w3 said while w3 was at work
}

// wait is how long the window stays closed.
const wait = 45 * time.Second

// window is a schedule with a window of an hour.
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

func (r *reboots) asks(t *testing.T) {
	r.must(t)(r.Exec(r.ctx, "cp1", "touch", "/run/reboot-required"))
	r.due(t, "cp1", "/run/reboot-required", 6*time.Minute) // the agent looks every five
	r.opens = time.Now().Add(wait).Truncate(time.Second)   // as the schedule has it
	r.apply(t, scenario.Automatic(v1alpha1.TypeReboot))
	r.apply(t, window(r.opens))
	r.must(t)(r.Lab.Lab(r.ctx, "update-engine", "w2", "need-reboot"))
	r.due(t, "w2", "update_engine", time.Minute)
	r.quiet(t, time.Until(r.opens)-10*time.Second)
	list, err := r.ours.ClusterUpgrades.List(r.ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) > 0 {
		t.Fatalf("upgrades before the window: %v, %v", list, err)
	}
}

// due waits until the node says that it needs a reboot, and who wants it.
func (r *reboots) due(t *testing.T, name, by string, within time.Duration) {
	t.Helper()
	r.eventually(t, within, name+" says that a reboot is due", func() error {
		node, err := r.ours.NodeUpgrades.Get(r.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if reboot := node.Status.Reboot; !reboot.Required || !strings.Contains(reboot.Reason, by) {
			return fmt.Errorf("reboot required %t: %s", reboot.Required, reboot.Reason)
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
		return fmt.Errorf("%d upgrades, and no Reboot among them that has succeeded", len(list.Items))
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
		for _, step := range r.course(t, upgrade, name).Steps {
			if step.Step == v1alpha1.StepLocking && step.StartTime.Time.Before(earliest) {
				t.Errorf("%s began %s, before %s", name, step.StartTime, earliest)
			}
			if step.Step == v1alpha1.StepUnlocking && step.EndTime != nil {
				earliest = step.EndTime.Time
			}
		}
	}
	for _, name := range r.nodes {
		r.active(t, name, from)
	}
	r.rebooted(t, map[string]int{"cp1": 1, "w1": 0, "w2": 1, "w3": 0})
	t.Log("\n" + r.must(t)(r.Upgrade(r.ctx, "status")))
}

func (r *reboots) promises(t *testing.T) {
	broken, err := record.Promises(r.recorder.Moments(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range broken {
		t.Error(line)
	}
}
