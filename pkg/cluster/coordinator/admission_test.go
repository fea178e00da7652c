package coordinator

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestCoordinatorAndAgentKeepEachOthersConditions checks that the coordinator and the agent,
// which write conditions of the same object, keep each other's. Before the agent has
// written, the object has no observed generation.
func TestCoordinatorAndAgentKeepEachOthersConditions(t *testing.T) {
	c := newWriter(t)
	until := time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC)
	waits := plan.NodePlan{
		Name: "both", Managed: true, Owner: clusterstate.Owner{Node: "both", UID: "1"}, Decision: plan.Wait,
		Reason: v1alpha1.ReasonWindowClosed, Message: "no window is open", Until: &until,
		Spec: v1alpha1.NodeUpgradeSpec{Upgrade: &v1alpha1.UpgradeReference{Name: "u", UID: "2"}, Version: "v1.34.4", Release: v1alpha1.ReleaseNone},
	}
	read := func() *v1alpha1.NodeUpgrade {
		t.Helper()
		stored, err := c.ours.NodeUpgrades.Get(t.Context(), "both", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	write := func(was *v1alpha1.NodeUpgrade, n plan.NodePlan) v1alpha1.NodeUpgradeStatus {
		t.Helper()
		if err := c.write(t.Context(), was, n); err != nil {
			t.Fatal(err)
		}
		return read().Status
	}
	report := func(status v1alpha1.NodeUpgradeStatus) v1alpha1.NodeUpgradeStatus {
		t.Helper()
		object := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "both"}, Status: status}
		if _, err := c.ours.NodeUpgrades.Apply(t.Context(), object, "node-agent", "status"); err != nil {
			t.Fatal(err)
		}
		return read().Status
	}
	defer func() {
		if err := c.ours.NodeUpgrades.Delete(t.Context(), "both", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}()

	s := write(nil, waits)
	if reason, message := s.Hold(); reason != waits.Reason || message != waits.Message || !s.HoldEndTime.Time.Equal(until) {
		t.Errorf("the node is held by %s, %q until %v", reason, message, s.HoldEndTime)
	}
	if s.ObservedGeneration != -1 || len(s.Conditions) != 1 {
		t.Errorf("before the agent has reported, the status is %+v", s)
	}
	agents := v1alpha1.NodeUpgradeStatus{ObservedGeneration: 1, Step: v1alpha1.StepWaiting, Conditions: []metav1.Condition{{
		Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: string(v1alpha1.ReasonAwaitingRelease), ObservedGeneration: 1,
		LastTransitionTime: metav1.NewTime(until),
	}}}
	s = report(agents)
	if reason, _ := s.Hold(); reason != waits.Reason || s.HoldEndTime == nil || s.ObservedGeneration != 1 {
		t.Errorf("the agent's write removed the coordinator's condition: %+v", s)
	}

	goes := waits
	goes.Decision, goes.Reason, goes.Message, goes.Until = plan.Go, v1alpha1.ReasonReleased, "the coordinator let it go", nil
	s = write(read(), goes)
	if reason, _ := s.Cause(); reason != v1alpha1.ReasonAwaitingRelease || s.Step != v1alpha1.StepWaiting || s.ObservedGeneration != 1 {
		t.Errorf("the coordinator's write removed the agent's conditions: %+v", s)
	}
	if !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionAdmitted) || s.HoldEndTime != nil {
		t.Errorf("the node is released, but its status is %+v", s)
	}
	before := read()
	write(before, goes)
	if after := read(); after.ResourceVersion != before.ResourceVersion || after.Generation != 1 {
		t.Errorf("a status that had not changed was written: resourceVersion %s, then %s, generation %d", before.ResourceVersion, after.ResourceVersion, after.Generation)
	}

	done := goes
	done.Decision, done.Reason, done.Spec = plan.Done, v1alpha1.ReasonUpToDate, v1alpha1.NodeUpgradeSpec{}
	agents.ObservedGeneration = 2
	write(read(), done)
	if diff := cmp.Diff(agents, report(agents)); diff != "" {
		t.Errorf("the status without an order differs from the agent's (-want +got):\n%s", diff)
	}
}

// TestReasonsAreLimited checks that the reasons of nodes that wait have a limit of their own, and that
// neither a release nor its withdrawal waits for it, nor what says that an agent has not answered.
func TestReasonsAreLimited(t *testing.T) {
	c := newWriter(t)
	c.reasons.limit = flowcontrol.NewTokenBucketRateLimiter(0.0001, 1)
	n := plan.NodePlan{
		Name: "limited", Managed: true, Owner: clusterstate.Owner{Node: "limited", UID: "1"}, Decision: plan.Wait,
		Spec: v1alpha1.NodeUpgradeSpec{Upgrade: &v1alpha1.UpgradeReference{Name: "u", UID: "2"}, Version: "v1.34.4", Release: v1alpha1.ReleaseNone},
	}
	var stored *v1alpha1.NodeUpgrade
	defer func() {
		if err := c.ours.NodeUpgrades.Delete(t.Context(), "limited", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}()
	for _, test := range []struct {
		reason   v1alpha1.Reason
		decision plan.Decision
		written  bool
	}{
		{v1alpha1.ReasonNotStaged, plan.Wait, true},
		{v1alpha1.ReasonNotItsTurn, plan.Wait, false},
		{v1alpha1.ReasonAgentNotAnswering, plan.Wait, true},
		{v1alpha1.ReasonNotItsTurn, plan.Wait, true}, // it answers again
		{v1alpha1.ReasonWindowClosed, plan.Wait, false},
		{v1alpha1.ReasonReleased, plan.Go, true},
		{v1alpha1.ReasonWindowClosed, plan.Wait, true},
		{v1alpha1.ReasonNotItsTurn, plan.Wait, false},
		{v1alpha1.ReasonUpToDate, plan.Done, true},
	} {
		n.Reason, n.Decision = test.reason, test.decision
		if err := c.write(t.Context(), stored, n); err != nil {
			t.Fatal(err)
		}
		var err error
		if stored, err = c.ours.NodeUpgrades.Get(t.Context(), "limited", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		present, _ := n.Admission()
		admitted := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionAdmitted)
		written := present == (admitted != nil) && (admitted == nil || admitted.Reason == string(n.Reason))
		if later := c.reasons.takeLater(); written != test.written || later == test.written {
			t.Errorf("%s: written %t, want %t; to be written later: %t", n.Reason, written, test.written, later)
		}
	}
}

// TestReleaseThatIsTakenUp checks that the condition of a node that waited is removed once the node has begun, and
// says Released only if that lasts: how long an agent does not answer is measured from it.
func TestReleaseThatIsTakenUp(t *testing.T) {
	c := newWriter(t)
	n := plan.NodePlan{
		Name: "taken-up", Managed: true, Owner: clusterstate.Owner{Node: "taken-up", UID: "1"}, Decision: plan.Wait, Reason: v1alpha1.ReasonNotItsTurn,
		Spec: v1alpha1.NodeUpgradeSpec{Upgrade: &v1alpha1.UpgradeReference{Name: "u", UID: "2"}, Version: "v1.34.4", Release: v1alpha1.ReleaseNone},
	}
	t.Cleanup(func() {
		if err := c.ours.NodeUpgrades.Delete(context.Background(), n.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	var stored *v1alpha1.NodeUpgrade
	write := func(doing string, lasts time.Duration, want string) {
		t.Helper()
		c.reasons.lasts = lasts
		if err := c.write(t.Context(), stored, n); err != nil {
			t.Fatal(err)
		}
		var err error
		if stored, err = c.ours.NodeUpgrades.Get(t.Context(), n.Name, metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		got := ""
		if admitted := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionAdmitted); admitted != nil {
			got = admitted.Reason
		}
		if later := c.reasons.takeLater(); got != want || later != (want != "" && want != string(n.Reason)) {
			t.Errorf("%s: Admitted is %q, want %q; written later: %v", doing, got, want, later)
		}
	}
	write("it waits", 0, "NotItsTurn")
	n.Decision, n.Reason = plan.Go, v1alpha1.ReasonReleased
	write("it is released", time.Hour, "NotItsTurn")
	write("its agent does not answer", 0, "Released")
	write("its agent still does not answer", time.Hour, "Released")
	n.Decision, n.Reason = plan.Wait, v1alpha1.ReasonAgentNotAnswering
	write("its release is withdrawn", time.Hour, "AgentNotAnswering")
	n.Decision, n.Reason = plan.Go, v1alpha1.ReasonReleased
	write("its agent answers, and it is released", time.Hour, "Released")
	n.Began = true
	write("it has begun", time.Hour, "")
	n.Decision, n.Reason = plan.Blocked, v1alpha1.ReasonNodeNotBack
	write("it does not come back", time.Hour, "NodeNotBack")
	n.Decision, n.Reason = plan.Go, v1alpha1.ReasonReleased
	write("it is back", time.Hour, "")
}

// TestAdmittedDoesNotRepeatAgentsMessage checks that the condition Admitted has no message
// if the agent's condition has the same.
func TestAdmittedDoesNotRepeatAgentsMessage(t *testing.T) {
	failed := plan.NodePlan{Decision: plan.Blocked, Reason: v1alpha1.ReasonKubeadmFailed, Message: "kubeadm ended with 1"}
	was := &v1alpha1.NodeUpgrade{}
	was.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionUpToDate, Reason: string(failed.Reason), Message: failed.Message}}
	if got := admission(was, failed, 4, time.Now()).condition; got.Reason != string(failed.Reason) || got.Message != "" || got.ObservedGeneration != 4 {
		t.Errorf("%+v", got)
	}
	was.Status.Conditions[0].Message = "kubeadm runs"
	if got := admission(was, failed, 4, time.Now()).condition; got.Message != failed.Message {
		t.Errorf("%+v", got)
	}
}
