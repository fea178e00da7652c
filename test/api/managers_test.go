package api_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// shared is a NodeUpgrade that coordinator and agent write with server-side apply.
type shared struct {
	*testing.T
	kinds *kube.Kinds
}

func newShared(t *testing.T) shared {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	kinds, err := kube.NewKinds(config)
	if err != nil {
		t.Fatal(err)
	}
	return shared{t, kinds}
}

// apply applies the manager's fields of the spec or the status.
func (s shared) apply(manager, subresource string, owned v1alpha1.NodeUpgrade) *v1alpha1.NodeUpgrade {
	s.Helper()
	owned.Name = "shared"
	stored, err := s.kinds.NodeUpgrades.Apply(s.Context(), &owned, manager, subresource)
	if err != nil {
		s.Fatalf("as %s: %v", manager, err)
	}
	return stored
}

func (s shared) asCoordinator(spec v1alpha1.NodeUpgradeSpec) *v1alpha1.NodeUpgrade {
	return s.apply("coordinator", "", v1alpha1.NodeUpgrade{Spec: spec})
}

func (s shared) admits(status v1alpha1.NodeUpgradeStatus) *v1alpha1.NodeUpgrade {
	return s.apply("coordinator", "status", v1alpha1.NodeUpgrade{Status: status})
}

func (s shared) asAgent(status v1alpha1.NodeUpgradeStatus) *v1alpha1.NodeUpgrade {
	return s.apply("node-agent", "status", v1alpha1.NodeUpgrade{Status: status})
}

var now = metav1.NewTime(time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC))

func condition(kind string, status metav1.ConditionStatus, reason v1alpha1.Reason) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: string(reason), ObservedGeneration: 1, LastTransitionTime: now}
}

// TestCoordinatorAndAgentDoNotConflict checks that coordinator and agent, which write the same
// object, neither revert the other's fields nor get a conflict.
func TestCoordinatorAndAgentDoNotConflict(t *testing.T) {
	s := newShared(t)
	defer remove(t, server(t), object(t, "NodeUpgrade", named("shared", "{}")))
	spec := v1alpha1.NodeUpgradeSpec{Upgrade: &v1alpha1.UpgradeReference{Name: "u", UID: "1"}, Version: "v1.34.4", Release: v1alpha1.ReleaseNone}
	s.asCoordinator(spec)

	closed := condition(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.ReasonWindowClosed)
	got := s.admits(v1alpha1.NodeUpgradeStatus{HoldEndTime: &now, Conditions: []metav1.Condition{closed}})
	if got.Status.ObservedGeneration != -1 {
		t.Errorf("an object that no agent has seen: got observedGeneration %d, want -1", got.Status.ObservedGeneration)
	}

	waiting := v1alpha1.NodeUpgradeStatus{
		ObservedGeneration: 1, Step: v1alpha1.StepWaiting, AgentVersion: "v0.1.0",
		Conditions: []metav1.Condition{
			condition(v1alpha1.ConditionUpToDate, metav1.ConditionFalse, v1alpha1.ReasonAwaitingRelease),
			condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonAwaitingRelease),
		},
	}
	got = s.asAgent(waiting)
	if diff := cmp.Diff(spec, got.Spec); diff != "" {
		t.Errorf("the agent's status changed the spec (-want +got):\n%s", diff)
	}
	if conditionTypes(got) != "Admitted Reconciling UpToDate" || got.Status.HoldEndTime == nil {
		t.Errorf("the agent's status changed the coordinator's: %s, until %v", conditionTypes(got), got.Status.HoldEndTime)
	}
	if reason, _ := got.Status.Explain(); reason != v1alpha1.ReasonWindowClosed {
		t.Errorf("got the reason %s, want the coordinator's", reason)
	}

	spec.Release, spec.Version = v1alpha1.ReleaseNode, ""
	spec.Type = v1alpha1.TypeReboot
	got = s.asCoordinator(spec)
	if diff := cmp.Diff(spec, got.Spec); diff != "" || got.Generation != 2 {
		t.Errorf("a field that the coordinator no longer sets stays, or the generation does not count: generation %d\n%s", got.Generation, diff)
	}
	got = s.admits(v1alpha1.NodeUpgradeStatus{Conditions: []metav1.Condition{condition(v1alpha1.ConditionAdmitted, metav1.ConditionTrue, v1alpha1.ReasonReleased)}})
	if got.Status.Step != v1alpha1.StepWaiting || got.Status.HoldEndTime != nil || conditionTypes(got) != "Admitted Reconciling UpToDate" || got.Generation != 2 {
		t.Errorf("the coordinator's status changed the agent's, or raised the generation: %+v", got)
	}

	idle := v1alpha1.NodeUpgradeStatus{
		ObservedGeneration: 2, Step: v1alpha1.StepIdle,
		Conditions: []metav1.Condition{condition(v1alpha1.ConditionUpToDate, metav1.ConditionTrue, v1alpha1.ReasonUpToDate)},
	}
	got = s.asAgent(idle)
	if conditionTypes(got) != "Admitted UpToDate" || got.Status.AgentVersion != "" {
		t.Errorf("what the agent no longer sets stays: %s, agent %q", conditionTypes(got), got.Status.AgentVersion)
	}
	got = s.admits(v1alpha1.NodeUpgradeStatus{})
	if diff := cmp.Diff(idle, got.Status); diff != "" {
		t.Errorf("the coordinator takes its condition back, and the agent's status is another (-want +got):\n%s", diff)
	}
}

// conditionTypes are those of the conditions, in order.
func conditionTypes(n *v1alpha1.NodeUpgrade) string {
	list := ""
	for _, kind := range []string{v1alpha1.ConditionAdmitted, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionUpToDate} {
		if meta.FindStatusCondition(n.Status.Conditions, kind) != nil {
			list += " " + kind
		}
	}
	return list[min(1, len(list)):]
}
