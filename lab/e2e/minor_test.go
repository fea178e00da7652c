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
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
)

const (
	minorFrom = "v1.34.4"
	minorTo   = "v1.35.4"
)

// anywhere lets the web service's pods run on control planes too: there is one
// worker, and they have to go somewhere.
const anywhere = `{"spec":{"template":{"spec":{"tolerations":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists","effect":"NoSchedule"}]}}}}`

// TestMinor takes a highly available cluster to the next minor with one command,
// and checks from outside that its services answer meanwhile: `make e2e-minor`.
func TestMinor(t *testing.T) {
	w := newWorld(t, 3, 1, "--version", minorFrom)
	w.startClient(t)
	w.must(t)(w.Kube(w.ctx, "-n", "default", "patch", "deployment", "web", "--type", "merge", "-p", anywhere))
	w.must(t)(w.Kube(w.ctx, "-n", "default", "rollout", "status", "deployment/web", "--timeout", "2m"))
	w.apply(t, scenario.Automatic(v1alpha1.TypePatch))
	w.apply(t, scenario.OpenSchedule)
	w.must(t)(w.Lab.Lab(w.ctx, "publish", minorTo))
	steps := []struct {
		name string
		run  func(*testing.T)
	}{
		{"a skipped minor is refused", w.skipRefused},
		{"a freeze refuses, whatever the schedule", w.freezeRefuses},
		{"a finding that blocks is refused, and let through by its id", w.findingRefuses},
		{"one apply takes every node to the minor", w.oneApply},
		{"every part of every node is as wanted", w.minorAsWanted},
		{"the promises held at every moment", w.minorPromises},
		{"the web service answered every request", w.served},
		{"the history says how it went", w.minorHistory},
	}
	for _, step := range steps {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// oneApply is the whole upgrade: one command, which ends when it is over.
func (w *world) oneApply(t *testing.T) {
	w.watchControlPlane(t)
	began := time.Now()
	said := w.must(t)(w.Upgrade(w.ctx, "apply", "v1.35", "--yes", "--ignore-check", preflight.LastBackend+"="+whyIgnored, "--timeout", "40m"))
	t.Logf("kubectl upgrade apply v1.35 took %s:\n%s", time.Since(began).Round(time.Second), said)
	upgrade, err := w.ours.ClusterUpgrades.Get(w.ctx, minorTo, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if upgrade.Status.Outcome != v1alpha1.OutcomeSucceeded || upgrade.Status.Type != v1alpha1.TypeMinor {
		t.Fatalf("%s: type %s, outcome %q", upgrade.Name, upgrade.Status.Type, upgrade.Status.Outcome)
	}
	w.ignoredRecorded(t)
	nodes := w.courses(t, minorTo)
	scenario.Timeline(os.Stdout, nodes)
	shares := scenario.Shares(nodes, upgrade.Status.TriggerTime.Time, upgrade.Status.CompletionTime.Time)
	scenario.PrintShares(os.Stdout, shares)
}

// minorPromises looks at every recorded moment, and at what the probes saw.
func (w *world) minorPromises(t *testing.T) {
	w.promised(t, 1)
	broken, err := record.Skew(w.recorder.Moments())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range broken {
		t.Error(line)
	}
	w.controlPlaneAnswered(t)
	w.rebooted(t, map[string]int{"cp1": 1, "cp2": 1, "cp3": 1, "w1": 1})
}
