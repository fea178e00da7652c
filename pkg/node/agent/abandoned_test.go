package agent

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/kubetest"
)

// abandon withdraws the release and frees the slot, as the coordinator does when a person
// abandons the node.
func (c *cluster) abandon() {
	c.t.Helper()
	c.order(v1alpha1.ReleaseNone)
	c.must(c.slots.Abandon(c.t.Context(), c.owner))
}

// orderObserved reports whether the status answers the present order.
func (c *cluster) orderObserved() bool {
	nu, err := c.ours.NodeUpgrades.Get(context.Background(), c.node, metav1.GetOptions{})
	return err == nil && nu.Status.ObservedGeneration == nu.Generation
}

// manualAgent returns an agent that does not run, and whose watches the test fills.
func (c *cluster) manualAgent() *Agent {
	c.t.Helper()
	upgrades, err := kube.NewKinds(c.account(c.node))
	c.must(err)
	a := New(Config{
		Node: c.node, Host: c.host, Install: func() error { return nil },
		Account: kubetest.Of(kubernetes.NewForConfigOrDie(c.account(c.node))), Kubelet: kubetest.Of(c.admin), Upgrades: upgrades,
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	node, err := c.admin.CoreV1().Nodes().Get(c.t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	c.must(a.kubelet.nodes.GetStore().Add(node))
	return a
}

// TestAbandonedNodeTakesSlotAgain abandons a node that hangs between its last check and its
// reboot: it does not reboot without its slot, goes back into service, reports that, and
// begins again with a slot of its own.
func TestAbandonedNodeTakesSlotAgain(t *testing.T) {
	c := newCluster(t, "agent-abandoned")
	c.kubelet()
	c.host.Hang(verb.Activate)
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.awaitStep(v1alpha1.StepWaiting)
	c.order(v1alpha1.ReleaseNode)
	c.awaitStep(v1alpha1.StepActivating)
	c.kill() // the activation goes on without an agent
	c.abandon()
	if c.orderObserved() {
		t.Fatal("the status from before the node was abandoned counts as an answer")
	}
	c.host.Finish(verb.Activate)
	c.host.AwaitEnd(t.Context(), verb.Activate)
	c.run()
	status := c.awaitStep(v1alpha1.StepWaiting)
	if status.Step != v1alpha1.StepWaiting || !slices.Contains(stepsOf(status), v1alpha1.StepAborting) || status.Slot != "" || c.host.RebootCount() != 0 {
		t.Errorf("got %d reboots, want none; status %+v", c.host.RebootCount(), status)
	}
	node, err := c.admin.CoreV1().Nodes().Get(t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	if marks := marksOf(node); marks != "in service" {
		t.Errorf("the Node is %q, want it in service", marks)
	}
	if !c.orderObserved() {
		t.Error("the status does not answer the order")
	}
	c.order(v1alpha1.ReleaseNode)
	status = c.awaitStep(v1alpha1.StepIdle)
	if c.host.RebootCount() != 1 || status.Versions.Kubelet != "v1.34.4" {
		t.Errorf("got %d reboots, want 1; status %+v", c.host.RebootCount(), status)
	}
	locked := 0
	for _, step := range stepsOf(status) {
		if step == v1alpha1.StepLocking {
			locked++
		}
	}
	if locked != 2 || !slices.Contains(stepsOf(status), v1alpha1.StepAborting) {
		t.Errorf("got steps %v, want Locking twice and Aborting between", stepsOf(status))
	}
	c.checkFree()
}

// TestNoRebootOnStaleWatch checks that the agent reads its release and its slot live before
// a reboot: after it hung, its watches are old.
func TestNoRebootOnStaleWatch(t *testing.T) {
	c := newCluster(t, "agent-stale-reboot")
	c.order(v1alpha1.ReleaseNode)
	stale, err := c.ours.NodeUpgrades.Get(t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	c.must(c.slots.Take(t.Context(), "slot-0", c.owner))
	before := machine.Observation{Spec: stale.Spec, Slot: machine.Slot{Held: "slot-0"}}

	c.host.OnReboot = func(string) {}
	a := c.manualAgent()
	reboot := func() (int, error) {
		_, err := a.act(t.Context(), machine.Action{Do: machine.DoReboot}, &round{Observation: before})
		return c.host.RebootCount(), err
	}

	c.abandon()
	if reboots, err := reboot(); reboots != 0 || err == nil {
		t.Errorf("abandoned: got %d reboots and error %v, want none and an error", reboots, err)
	}
	// Its release was withdrawn after the last check, and it has its slot: it finishes.
	c.order(v1alpha1.ReleaseNode)
	c.must(c.slots.Take(t.Context(), "slot-0", c.owner))
	c.order(v1alpha1.ReleaseNone)
	if reboots, err := reboot(); reboots != 1 || err != nil {
		t.Errorf("release withdrawn: got %d reboots and error %v, want 1 and none", reboots, err)
	}
	// Its Lease was deleted, and it is released: it finishes.
	c.order(v1alpha1.ReleaseNode)
	c.must(c.slots.Free(t.Context(), "slot-0", c.owner))
	if reboots, err := reboot(); reboots != 2 || err != nil {
		t.Errorf("without its Lease: got %d reboots and error %v, want 2 and none", reboots, err)
	}
	// Its order was deleted: its slot alone says whether it was abandoned before.
	c.must(c.ours.NodeUpgrades.Delete(t.Context(), c.node, metav1.DeleteOptions{}))
	if reboots, err := reboot(); reboots != 2 || err == nil {
		t.Errorf("without its order and its slot: got %d reboots and error %v, want 2 and an error", reboots, err)
	}
	c.order(v1alpha1.ReleaseNode)
	c.must(c.slots.Take(t.Context(), "slot-0", c.owner))
	c.must(c.ours.NodeUpgrades.Delete(t.Context(), c.node, metav1.DeleteOptions{}))
	if reboots, err := reboot(); reboots != 3 || err != nil {
		t.Errorf("without its order: got %d reboots and error %v, want 3 and none", reboots, err)
	}
	c.must(c.slots.Abandon(t.Context(), c.owner))
}

// TestStatusAnswersOrderThatWasRead checks that observedGeneration is that of the order
// which the agent read, though the order has changed before the status is written.
func TestStatusAnswersOrderThatWasRead(t *testing.T) {
	c := newCluster(t, "agent-answers")
	c.order(v1alpha1.ReleaseNone)
	a := c.manualAgent()
	first, err := c.ours.NodeUpgrades.Get(t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	c.must(a.report.nodeUpgrades.GetStore().Add(first))
	r, err := a.observe(t.Context(), &openRules{})
	c.must(err)
	for range 1000 {
		if r.Host != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
		r, err = a.observe(t.Context(), &openRules{})
		c.must(err)
	}
	if r.Host == nil {
		t.Fatal("the host was never read")
	}
	c.order(v1alpha1.ReleaseNone, byRestart) // after it was read, before the status is written
	second, err := c.ours.NodeUpgrades.Get(t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	c.must(a.report.nodeUpgrades.GetStore().Update(second))
	r.state = machine.State{Upgrade: *first.Spec.Upgrade, Step: v1alpha1.StepWaiting}
	c.must(a.report.persist(t.Context(), r, machine.Action{}))
	if answered := c.status().ObservedGeneration; answered != first.Generation || second.Generation == first.Generation {
		t.Errorf("the order had generation %d, then %d; observedGeneration is %d, want the first", first.Generation, second.Generation, answered)
	}
}
