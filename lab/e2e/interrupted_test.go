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

// TestMinorInterrupted is the same upgrade with everything going wrong that can:
// the person who asked detaches, the coordinator and an agent die, a control plane
// loses its power in the middle of kubeadm, and a budget lets no pod go. It ends
// as TestMinor does, and its etcd snapshot restores: `make e2e-minor`.
func TestMinorInterrupted(t *testing.T) {
	w := newWorld(t, 3, 1, "--version", minorFrom)
	w.apply(t, scenario.Automatic(v1alpha1.TypePatch))
	w.apply(t, scenario.OpenSchedule)
	w.apply(t, stuck)
	w.must(t)(w.Kube(w.ctx, "-n", "default", "rollout", "status", "deployment/stuck", "--timeout", "2m"))
	w.must(t)(w.Kube(w.ctx, "-n", "default", "create", "configmap", beforeIt))
	w.must(t)(w.Lab.Lab(w.ctx, "publish", minorTo))
	steps := []struct {
		name string
		run  func(*testing.T)
	}{
		{"Ctrl-C detaches, and the upgrade goes on", w.detach},
		{"the coordinator and an agent are killed", w.killBoth},
		{"a control plane loses its power in the middle of kubeadm", w.powerCut},
		{"a budget that allows nothing stops the drain, and not the node", w.budgetBlocks},
		{"it ends the same", w.endsTheSame},
		{"every part of every node is as wanted", w.minorAsWanted},
		{"no kubelet was ever newer than an apiserver", w.skewHeld},
		{"the etcd snapshot restores the cluster of before", w.restores},
	}
	for _, step := range steps {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// detach asks for the upgrade, and takes its leave when it has begun.
func (w *world) detach(t *testing.T) {
	plugin := filepath.Join(filepath.Dir(w.Program), "kubectl-upgrade")
	cmd := exec.CommandContext(w.ctx, plugin, "--kubeconfig", w.Kubeconfig, "apply", "v1.35", "--yes")
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	w.eventually(t, 10*time.Minute, "kubeadm runs on a control plane", func() error { return w.someAt(v1alpha1.StepKubeadm) })
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("apply did not end on Ctrl-C")
	}
	t.Log("\n" + said.String())
	if !strings.Contains(strings.ToLower(said.String()), "detach") {
		t.Error("apply does not say that it only detached")
	}
}

// killBoth ends the leading coordinator, and the agent that is at work.
func (w *world) killBoth(t *testing.T) {
	node := w.whoIsAt(t, v1alpha1.StepKubeadm)
	w.must(t)(w.Kube(w.ctx, "-n", v1alpha1.Namespace, "delete", "pod", "-l", "app.kubernetes.io/component=coordinator", "--grace-period=0", "--force"))
	if _, err := w.killAgent(w.ctx, node); err != nil {
		t.Logf("%s: %v", node, err)
	}
	t.Logf("killed the coordinator, and the agent of %s in the middle of kubeadm", node)
}

// powerCut waits for the next control plane's kubeadm to be well under way.
func (w *world) powerCut(t *testing.T) {
	first := w.whoIsAt(t, v1alpha1.StepKubeadm)
	w.eventually(t, 15*time.Minute, "another control plane runs kubeadm", func() error { return w.someAt(v1alpha1.StepKubeadm, first) })
	next := w.whoIsAt(t, v1alpha1.StepKubeadm, first)
	w.eventually(t, 2*time.Minute, "its manifests are being written", func() error { return w.manifestsMoved(next) })
	w.must(t)(w.Lab.Lab(w.ctx, "kill", next))
	t.Logf("%s lost its power in the middle of kubeadm", next)
	time.Sleep(10 * time.Second)
	w.must(t)(w.Lab.Lab(w.ctx, "start", next))
}

// endsTheSame follows from another terminal until it is over.
func (w *world) endsTheSame(t *testing.T) {
	ctx, cancel := context.WithTimeout(w.ctx, 30*time.Minute)
	defer cancel()
	t.Log("\n" + w.must(t)(w.Upgrade(ctx, "status", "-w", "--timeout", "30m")))
	scenario.Timeline(os.Stdout, w.courses(t, minorTo))
}

func (w *world) skewHeld(t *testing.T) {
	broken, err := record.Skew(w.recorder.Moments())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range broken {
		t.Error(line)
	}
}
