package api_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestLargestStateIsStored stores as many turns and hooks as the planner lets there be, with texts as long as they may
// be: one object that is too large for etcd would hold every node.
func TestLargestStateIsStored(t *testing.T) {
	server(t)
	ours, err := kube.NewKinds(apitest.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	now := metav1.Now().Rfc3339Copy()
	text := func(n int) string { return strings.Repeat("x", n) }
	reference := v1alpha1.UpgradeReference{Name: text(253), UID: text(36)}
	state := v1alpha1.RememberedState{LastHookTurn: 1 << 40}
	for i := range 128 {
		turn := v1alpha1.HookTurn{
			ID: 1<<40 - int64(i), Upgrade: reference, Version: text(64), From: text(64), Node: text(253), NodeUID: text(36), Release: v1alpha1.ReleaseControlPlane,
			Attempts: 1000, StartTime: now, TookSlot: true, Outcome: v1alpha1.TurnRolledBack, Gate: text(63), Unused: 1000, PolicyGeneration: 1 << 40,
		}
		for j := range 4 {
			turn.Hooks = append(turn.Hooks, v1alpha1.HookRun{
				Name: fmt.Sprintf("%040d", j), When: v1alpha1.BeforeUpgrade, CronJobName: text(52), TimeoutSeconds: 86400, State: v1alpha1.HookSucceeded, Attempt: 1000,
				RetriedBy: text(36), Job: text(63), JobUID: text(36), StartTime: &now, EndTime: &now, Reason: text(64), Message: text(512),
			})
		}
		state.HookTurns = append(state.HookTurns, turn)
	}
	name := metav1.ObjectMeta{Name: v1alpha1.PolicyName}
	made, err := ours.CoordinatorStates.Create(t.Context(), &v1alpha1.CoordinatorState{ObjectMeta: name}, metav1.CreateOptions{FieldManager: "coordinator"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ours.CoordinatorStates.Delete(t.Context(), name.Name, metav1.DeleteOptions{}) }()
	made.RememberedState = state
	if _, err := ours.CoordinatorStates.Update(t.Context(), made, metav1.UpdateOptions{FieldManager: "coordinator"}); err != nil {
		t.Errorf("the state: %v", err)
	}
	if _, err := ours.UpgradePolicies.Create(t.Context(), &v1alpha1.UpgradePolicy{ObjectMeta: name}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ours.UpgradePolicies.Delete(t.Context(), name.Name, metav1.DeleteOptions{}) }()
	shows := &v1alpha1.UpgradePolicy{ObjectMeta: name, Status: v1alpha1.UpgradePolicyStatus{RememberedState: state}}
	if _, err := ours.UpgradePolicies.Apply(t.Context(), shows, "coordinator", "status"); err != nil {
		t.Errorf("the policy's status: %v", err)
	}
}
