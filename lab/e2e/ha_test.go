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

// TestThreeControlPlanes takes a cluster of plain Flatcar nodes, whose own timer
// activates whatever is new, through a patch. In the middle of it a
// control-plane node loses its power while its pods are leaving, stays away for
// longer than the API server's patience, and comes back; and the coordinator
// that leads is deleted. It takes about twenty minutes: `make e2e-ha`.
func TestThreeControlPlanes(t *testing.T) {
	w := newWorld(t, 3, 1, "--raw-flatcar")
	w.eventually(t, time.Minute, "every node's own timer is disarmed", w.disarmed)
	w.apply(t, scenario.Automatic(v1alpha1.TypePatch))
	w.apply(t, scenario.OpenSchedule)
	w.must(t)(w.Lab.Lab(w.ctx, "publish", to))

	w.eventually(t, 15*time.Minute, "cp2 is draining", func() error { return w.at("cp2", v1alpha1.StepDraining) })
	w.must(t)(w.Lab.Lab(w.ctx, "kill", "cp2"))
	w.eventually(t, 2*time.Minute, "cp2 is seen to be NotReady", func() error { return w.notReady("cp2") })
	w.must(t)(w.Kube(w.ctx, "-n", v1alpha1.Namespace, "delete", "pod", "-l", "app.kubernetes.io/component=coordinator", "--grace-period=0", "--force"))
	t.Log("\n" + w.must(t)(w.Upgrade(w.ctx, "status")))
	time.Sleep(30 * time.Second)
	w.must(t)(w.Lab.Lab(w.ctx, "start", "cp2"))

	w.eventually(t, 15*time.Minute, "every node runs "+to, w.everyNodeDone)
	w.eventually(t, time.Minute, "the upgrade is recorded as succeeded", func() error { return w.recorded(to) })
	scenario.Timeline(os.Stdout, w.courses(t, to))
	for _, name := range w.nodes {
		w.active(t, name, to)
	}
	w.promised(t, 1)
	w.inHours(t, "cp2")
	w.rebooted(t, map[string]int{"cp1": 1, "cp2": 2, "cp3": 1, "w1": 1})
}

// disarmed wants the timer's service to find nothing that it could activate.
func (w *world) disarmed() error {
	for _, node := range w.nodes {
		conf, err := w.Exec(w.ctx, node, "sh", "-c", "cat /etc/sysupdate.kubernetes.d/*.conf; ! grep -q ^CurrentSymlink= /etc/sysupdate.kubernetes.d/*.conf")
		if err != nil {
			return fmt.Errorf("%s: %s", node, conf)
		}
	}
	return nil
}

func (w *world) at(node string, step v1alpha1.Step) error {
	upgrade, err := w.ours.NodeUpgrades.Get(w.ctx, node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if upgrade.Status.Step != step {
		return errors.New(told(*upgrade))
	}
	return nil
}

func (w *world) notReady(name string) error {
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	node, err := w.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
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
