//go:build e2e

package e2e

import (
	"errors"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// controlPlaneFirst creates the upgrade in a long window, as no durations are known yet, and
// checks that the workers wait for the control plane.
func (r *rollout) controlPlaneFirst(t *testing.T) {
	r.must(t)(r.Kube(r.ctx, "label", "node", "w1", "w2", "pool=canary"))
	for _, put := range []error{r.Hold(r.ctx, "w3"), r.Hold(r.ctx, "w4"), r.Slow(r.ctx, "w5", "5m")} {
		if put != nil {
			t.Fatal(put)
		}
	}
	for _, pods := range []string{"hold-w3", "hold-w4", "slow-w5"} {
		r.must(t)(r.Kube(r.ctx, "rollout", "status", "deployment/"+pods, "--timeout", "2m"))
	}
	r.apply(t, scenario.Windows(scenario.Span{Start: time.Now().Add(-time.Minute), End: time.Now().Add(12 * time.Hour)}))
	r.must(t)(r.Lab.Lab(r.ctx, "publish", to))
	r.apply(t, twoAtOnce)
	r.predicted = r.plan(t, r.nodes...)
	r.awaitStatus(t, v1alpha1.ReasonControlPlaneFirst, "", "w1", "w2", "w3", "w4", "w5")
}

// canaries checks that both nodes of the first group go at once, before the others.
func (r *rollout) canaries(t *testing.T) {
	r.eventually(t, 15*time.Minute, "w1 and w2 are out of service together", func() error { return r.outOfService("w1", "w2") })
	r.awaitStatus(t, v1alpha1.ReasonNotItsTurn, "group canary goes first", "w3", "w4", "w5")
	r.eventually(t, 5*time.Minute, "w1 and w2 are past their last check", func() error { return r.pastLastCheck("w1", "w2") })
}

// freeze begins a freeze when both canaries are past their last check. windowEnds ends it.
func (r *rollout) freeze(t *testing.T) {
	t.Log(r.must(t)(r.Upgrade(r.ctx, "freeze", "audit", "--for", "2h", "--reason", "the auditors are here")))
	if err := r.done("w1", "w2"); err == nil {
		t.Fatal("w1 and w2 were done before the freeze began")
	}
	r.awaitStatus(t, v1alpha1.ReasonExcluded, "the auditors are here", "w3", "w4", "w5")
	r.eventually(t, 5*time.Minute, "w1 and w2 finish", func() error { return r.done("w1", "w2") })
	r.awaitUpgradeStatus(t, v1alpha1.ReasonExcluded)
	r.checkNothingBegins(t, 5*time.Second)
}

// outOfService returns an error unless each of the nodes is cordoned by us.
func (r *rollout) outOfService(names ...string) error {
	leaving := func(step v1alpha1.Step) bool { return step == v1alpha1.StepDraining || step == v1alpha1.StepLastCheck }
	return r.each(names, func(u v1alpha1.NodeUpgrade) bool { return leaving(u.Status.Step) || committed(u) })
}

// pastLastCheck returns an error unless each of the nodes has passed its last check.
func (r *rollout) pastLastCheck(names ...string) error {
	return r.each(names, func(u v1alpha1.NodeUpgrade) bool { return committed(u) || isDone(u) })
}

// committed reports whether a node is past its last check and not done yet.
func committed(u v1alpha1.NodeUpgrade) bool {
	return u.Status.Step.Info().Phase == v1alpha1.PhaseCommitted
}

func (r *rollout) done(names ...string) error { return r.each(names, isDone) }

func isDone(u v1alpha1.NodeUpgrade) bool {
	return u.Status.Step == v1alpha1.StepIdle && u.Status.Versions.Kubelet == to
}

func (r *rollout) each(names []string, is func(v1alpha1.NodeUpgrade) bool) error {
	nodes, err := r.nodeUpgrades()
	if err != nil {
		return err
	}
	for _, node := range nodes {
		for _, name := range names {
			if node.Name == name && !is(node) {
				return errors.New(describe(node))
			}
		}
	}
	return nil
}

// checkNothingBegins waits, and fails the test if something began meanwhile.
func (c *testCluster) checkNothingBegins(t *testing.T, span time.Duration) {
	t.Helper()
	before, err := record.Beginnings(c.recorder.Moments())
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(span)
	after, err := record.Beginnings(c.recorder.Moments())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range after[len(before):] {
		t.Errorf("%s of %s began, want nothing to begin", b.What, b.Node)
	}
}
