//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestMinorInterrupted is TestMinor with faults: the person detaches, the coordinator and an
// agent are killed, a control plane loses power while kubeadm runs, and a budget allows no
// eviction. It ends as TestMinor does, and its etcd snapshot is restored: `make e2e-minor`.
func TestMinorInterrupted(t *testing.T) {
	c := newCluster(t, 3, 1, "--version", minorFrom)
	c.apply(t, scenario.Automatic(v1alpha1.TypePatch))
	c.apply(t, scenario.OpenSchedule)
	c.apply(t, stuck)
	c.must(t)(c.Kube(c.ctx, "-n", "default", "rollout", "status", "deployment/stuck", "--timeout", "2m"))
	c.must(t)(c.Kube(c.ctx, "-n", "default", "create", "configmap", beforeIt))
	c.must(t)(c.Lab.Lab(c.ctx, "publish", minorTo))
	steps := []struct {
		name string
		run  func(*testing.T)
	}{
		{"Ctrl-C detaches, and the upgrade goes on", c.detach},
		{"the coordinator and an agent are killed", c.killBoth},
		{"a control plane loses power while kubeadm runs", c.powerCut},
		{"a budget that allows no eviction stops the drain", c.budgetBlocks},
		{"the upgrade ends as without faults", c.endsTheSame},
		{"every node is completely upgraded", c.checkMinorUpgraded},
		{"no kubelet was ever newer than an apiserver", c.checkSkew},
		{"the etcd snapshot restores the old cluster", c.restores},
	}
	for _, step := range steps {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// detach creates the upgrade, and detaches when it has begun.
func (c *testCluster) detach(t *testing.T) {
	plugin := filepath.Join(filepath.Dir(c.Program), "kubectl-upgrade")
	cmd := exec.CommandContext(c.ctx, plugin, "--kubeconfig", c.Kubeconfig, "apply", "v1.35", "--yes")
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	c.eventually(t, 10*time.Minute, "kubeadm runs on a control plane", func() error { return c.anyNodeAt(v1alpha1.StepKubeadm) })
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("apply did not end on Ctrl-C")
	}
	t.Log("\n" + said.String())
	if !strings.Contains(said.String(), "continues") {
		t.Error("apply does not print that the upgrade continues")
	}
}

// killBoth kills the leading coordinator, and the agent of the node that works.
func (c *testCluster) killBoth(t *testing.T) {
	node := c.nodeAt(t, v1alpha1.StepKubeadm)
	c.must(t)(c.Kube(c.ctx, "-n", v1alpha1.Namespace, "delete", "pod", "-l", "app.kubernetes.io/component=coordinator", "--grace-period=0", "--force"))
	if _, err := c.killAgent(c.ctx, node); err != nil {
		t.Logf("%s: %v", node, err)
	}
	t.Logf("killed the coordinator, and the agent of %s in the middle of kubeadm", node)
}

// powerCut cuts the power of the next control plane while its kubeadm replaces manifests.
func (c *testCluster) powerCut(t *testing.T) {
	first := c.nodeAt(t, v1alpha1.StepKubeadm)
	c.eventually(t, 15*time.Minute, "another control plane runs kubeadm", func() error { return c.anyNodeAt(v1alpha1.StepKubeadm, first) })
	next := c.nodeAt(t, v1alpha1.StepKubeadm, first)
	c.eventually(t, 2*time.Minute, "its manifests are being written", func() error { return c.manifestsMoved(next) })
	c.must(t)(c.Lab.Lab(c.ctx, "kill", next))
	t.Logf("%s lost its power in the middle of kubeadm", next)
	time.Sleep(10 * time.Second)
	c.must(t)(c.Lab.Lab(c.ctx, "start", next))
}

// endsTheSame follows the upgrade from another terminal until it ends.
func (c *testCluster) endsTheSame(t *testing.T) {
	ctx, cancel := context.WithTimeout(c.ctx, 30*time.Minute)
	defer cancel()
	t.Log("\n" + c.must(t)(c.Upgrade(ctx, "status", "-w", "--timeout", "30m")))
	scenario.Timeline(os.Stdout, c.nodeRecords(t, minorTo))
}

func (c *testCluster) checkSkew(t *testing.T) {
	c.report(t)(record.Skew(c.recorder.Moments()))
}
