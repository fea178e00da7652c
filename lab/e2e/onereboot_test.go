//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cgroup"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestOneReboot is the smallest upgrade of real nodes: a worker requires a reboot and gets it
// by an upgrade, while a web service answers. Slow machines can do it.
func TestOneReboot(t *testing.T) {
	o := &oneReboot{pagedStory: begin(t), bootIDs: map[string]string{}}
	o.testCluster = newLab(t, 1, 1)
	o.play([]chapter{
		{"a control plane and a worker are Ready", o.ready},
		{"nodes have the control groups of their host", o.checkGroups},
		{"the product is installed", o.require},
		{"the web service answers a client", o.serve},
		{"the worker rebooted by an upgrade of type Reboot", o.reboot},
		{"the promises held at every moment", o.checkPromises},
		{"the web service answered every request", o.served},
	}, o.isVoid)
}

type oneReboot struct {
	*testCluster
	pagedStory
	bootIDs map[string]string // before the upgrade
}

// ready lets the control plane run pods of the web service, so that it can lose the worker's.
func (o *oneReboot) ready(t *testing.T) {
	o.must(t)(o.Kube(o.ctx, "wait", "nodes", "--all", "--for", "condition=Ready", "--timeout", timelimit.Scale(time.Minute).String()))
	o.note(t, "\n"+o.must(t)(o.Kube(o.ctx, "get", "nodes", "-o", "wide")))
	o.must(t)(o.Kube(o.ctx, "taint", "nodes", "cp1", "node-role.kubernetes.io/control-plane-"))
}

func (o *oneReboot) checkGroups(t *testing.T) {
	host, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	want := map[cgroup.Version]string{cgroup.V1: "tmpfs", cgroup.V2: "cgroup2fs"}[host]
	for _, name := range o.nodes {
		got := strings.TrimSpace(o.must(t)(o.Exec(o.ctx, name, "stat", "--file-system", "--format=%T", "/sys/fs/cgroup")))
		if got != want {
			t.Errorf("%s has %s at /sys/fs/cgroup, want %s, as its host has version %d", name, got, want, host)
		}
		if host == cgroup.V2 {
			o.checkControllers(t, name)
		}
		o.bootIDs[name] = o.bootID(t, name)
	}
	o.note(t, fmt.Sprintf("control groups of version %d, on the nodes too", host))
}

// checkControllers checks that the node got controllers, and that its systemd passes them on.
func (o *oneReboot) checkControllers(t *testing.T, name string) {
	t.Helper()
	for _, file := range []string{"cgroup.controllers", "cgroup.subtree_control", "kubepods.slice/cgroup.controllers"} {
		got := strings.Fields(o.must(t)(o.Exec(o.ctx, name, "cat", "/sys/fs/cgroup/"+file)))
		for _, controller := range []string{"cpu", "memory", "pids"} {
			if !slices.Contains(got, controller) {
				t.Errorf("%s: %s has %v, want %s among them", name, file, got, controller)
			}
		}
	}
}

func (o *oneReboot) bootID(t *testing.T, name string) string {
	t.Helper()
	return o.must(t)(o.Exec(o.ctx, name, "cat", "/proc/sys/kernel/random/boot_id"))
}

// serve runs the client until the whole test ends, not only this step.
func (o *oneReboot) serve(*testing.T) { o.startClient(o.test) }

// require makes the worker require a reboot before its agent looks for the first time.
func (o *oneReboot) require(t *testing.T) {
	o.must(t)(o.Exec(o.ctx, "w1", "touch", "/run/reboot-required"))
	o.install(t)
	o.connect(t)
	o.eventually(t, time.Minute, "w1 reports that it requires a reboot", func() error {
		node, err := o.ours.NodeUpgrades.Get(o.ctx, "w1", metav1.GetOptions{})
		if err == nil && !node.Status.Reboot.Required {
			err = fmt.Errorf("it does not")
		}
		return err
	})
}

func (o *oneReboot) reboot(t *testing.T) {
	o.apply(t, scenario.Automatic(v1alpha1.TypeReboot)+"---"+scenario.OpenSchedule)
	o.eventually(t, 5*time.Minute, "the Reboot has succeeded", func() error {
		list, err := o.ours.ClusterUpgrades.List(o.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(list.Items) != 1 || list.Items[0].Spec.Type != v1alpha1.TypeReboot || list.Items[0].Status.Outcome != v1alpha1.OutcomeSucceeded {
			return fmt.Errorf("got %d upgrades, want one Reboot that has succeeded", len(list.Items))
		}
		return nil
	})
	for name, rebooted := range map[string]bool{"cp1": false, "w1": true} {
		if (o.bootID(t, name) != o.bootIDs[name]) != rebooted {
			t.Errorf("%s: rebooted %t, want %t", name, !rebooted, rebooted)
		}
	}
	o.note(t, "\n"+o.must(t)(o.Upgrade(o.ctx, "status")))
}

func (o *oneReboot) checkPromises(t *testing.T) {
	o.report(t)(record.Promises(o.recorder.Moments(), 1))
}

func (o *oneReboot) served(t *testing.T) {
	report := o.prober.Report()
	o.note(t, fmt.Sprintf("%d of %d requests answered, the slowest in %s", report.Answered, report.Sent, report.Slowest.Round(time.Millisecond)))
	if report.Sent < 100 {
		t.Errorf("only %d requests were sent", report.Sent)
	}
	for _, failure := range report.Failures {
		t.Error(o.told(failure.At, failure.Ended, failure.Err.Error()))
	}
}
