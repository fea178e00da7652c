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
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/client"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
)

// giveUp is what the coordinator does when a person gave the node up.
func (c *cluster) giveUp() {
	c.t.Helper()
	c.order(v1alpha1.ReleaseNone)
	c.must(c.slots.Abandon(c.t.Context(), c.owner))
}

// answered reports whether the agent has seen its present order.
func (c *cluster) answered() bool {
	nu, err := c.ours.NodeUpgrades.Get(context.Background(), c.node, metav1.GetOptions{})
	return err == nil && nu.Status.ObservedGeneration == nu.Generation
}

// byHand is an agent that does not run, and whose watches are the test's.
func (c *cluster) byHand() *Agent {
	c.t.Helper()
	upgrades, err := client.New(c.account(c.node))
	c.must(err)
	a := New(Config{
		Node: c.node, Host: c.host, Install: func() error { return nil },
		Account: kubernetes.NewForConfigOrDie(c.account(c.node)), Upgrades: upgrades,
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	node, err := c.admin.CoreV1().Nodes().Get(c.t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	c.must(a.nodes.GetStore().Add(node))
	return a
}

// A node hung between its last check and its reboot, and was given up: it never
// reboots on the slot that is another's by now, but goes back into service,
// says so, and begins anew with a slot of its own.
func TestAbandonedNodeLocksAnew(t *testing.T) {
	c := newCluster(t, "agent-abandoned")
	c.kubelet()
	c.host.takes = 500 * time.Millisecond
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.awaitStep(v1alpha1.StepWaiting)
	c.order(v1alpha1.ReleaseNode)
	c.awaitStep(v1alpha1.StepActivating)
	c.kill() // the host goes on: the symlink is flipped in a moment
	c.giveUp()
	if c.answered() {
		t.Fatal("what the agent said before counts as an answer")
	}
	time.Sleep(time.Second)
	c.run()
	status := c.awaitStep(v1alpha1.StepWaiting)
	if status.Step != v1alpha1.StepWaiting || !slices.Contains(stepsOf(status), v1alpha1.StepAborting) || status.Slot != "" || c.host.reboots != 0 {
		t.Errorf("%d reboots, status %+v", c.host.reboots, status)
	}
	node, err := c.admin.CoreV1().Nodes().Get(t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	if marks := marksOf(node); marks != "in service" {
		t.Errorf("the Node is %s", marks)
	}
	if !c.answered() {
		t.Error("the agent did not answer")
	}
	c.order(v1alpha1.ReleaseNode)
	status = c.awaitStep(v1alpha1.StepIdle)
	if c.host.reboots != 1 || status.Versions.Kubelet != "v1.34.4" {
		t.Errorf("%d reboots, status %+v", c.host.reboots, status)
	}
	locked := 0
	for _, step := range stepsOf(status) {
		if step == v1alpha1.StepLocking {
			locked++
		}
	}
	if locked != 2 || !slices.Contains(stepsOf(status), v1alpha1.StepAborting) {
		t.Errorf("steps %v, want Locking twice, and Aborting between", stepsOf(status))
	}
	c.free()
}

// The agent hung in front of its reboot, and its watches show the time before:
// it looks once more.
func TestStaleWatchRebootsNothing(t *testing.T) {
	c := newCluster(t, "agent-stale-reboot")
	c.order(v1alpha1.ReleaseNode)
	stale, err := c.ours.NodeUpgrades.Get(t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	_, err = c.slots.Take(t.Context(), c.owner)
	c.must(err)
	before := machine.Observation{Spec: stale.Spec, Slot: machine.Slot{Held: "slot-0"}}

	c.host.onReboot = func(string) {}
	a := c.byHand()
	reboot := func() (int, error) {
		err := a.act(t.Context(), machine.Action{Do: machine.DoReboot}, before)
		return c.host.reboots, err
	}

	c.giveUp()
	if reboots, err := reboot(); reboots != 0 || err == nil {
		t.Errorf("given up: %d reboots, %v", reboots, err)
	}
	// Called back after the last check, with its slot: it finishes.
	c.order(v1alpha1.ReleaseNode)
	_, err = c.slots.Take(t.Context(), c.owner)
	c.must(err)
	c.order(v1alpha1.ReleaseNone)
	if reboots, err := reboot(); reboots != 1 || err != nil {
		t.Errorf("called back: %d reboots, %v", reboots, err)
	}
	// Its Lease was deleted, and nobody called it back: it finishes.
	c.order(v1alpha1.ReleaseNode)
	c.must(c.slots.Free(t.Context(), c.owner))
	if reboots, err := reboot(); reboots != 2 || err != nil {
		t.Errorf("without its Lease: %d reboots, %v", reboots, err)
	}
	c.must(c.slots.Abandon(t.Context(), c.owner))
}

// What is written was decided on the spec that was looked at, whatever came
// after: so an answer is one.
func TestStatusAnswersWhatWasSeen(t *testing.T) {
	c := newCluster(t, "agent-answers")
	c.order(v1alpha1.ReleaseNone)
	a := c.byHand()
	first, err := c.ours.NodeUpgrades.Get(t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	c.must(a.nodeUpgrades.GetStore().Add(first))
	o := a.observe(t.Context())
	for range 100 {
		if o.Host != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
		o = a.observe(t.Context())
	}
	c.order(v1alpha1.ReleaseNone, byRestart) // between the look and the word
	second, err := c.ours.NodeUpgrades.Get(t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	c.must(a.nodeUpgrades.GetStore().Update(second))
	a.state = machine.State{Upgrade: *first.Spec.Upgrade, Step: v1alpha1.StepWaiting}
	c.must(a.persist(t.Context(), o, ""))
	if answered := c.status().ObservedGeneration; answered != first.Generation || second.Generation == first.Generation {
		t.Errorf("generation %d, then %d: answered is %d", first.Generation, second.Generation, answered)
	}
}
