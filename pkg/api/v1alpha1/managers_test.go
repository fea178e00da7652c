package v1alpha1_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/client"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/internal/apitest"
)

// Coordinator and agent write the same object at the same time: neither may
// undo what the other wrote, or see a conflict.
func TestCoordinatorAndAgentDoNotFight(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	kinds, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	t.Cleanup(func() {
		if err := kinds.NodeUpgrades.Delete(ctx, "shared", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})

	until := metav1.NewTime(time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC))
	named := metav1.ObjectMeta{Name: "shared"}
	spec := v1alpha1.NodeUpgradeSpec{Upgrade: "u", Version: "v1.34.4", Release: v1alpha1.ReleaseNone, Reason: v1alpha1.ReasonWindowClosed, Until: &until}
	asCoordinator := func(spec v1alpha1.NodeUpgradeSpec) *v1alpha1.NodeUpgrade {
		t.Helper()
		stored, err := kinds.NodeUpgrades.Apply(ctx, &v1alpha1.NodeUpgrade{ObjectMeta: named, Spec: spec}, "coordinator", "")
		if err != nil {
			t.Fatalf("as the coordinator: %v", err)
		}
		return stored
	}
	asAgent := func(status v1alpha1.NodeUpgradeStatus) *v1alpha1.NodeUpgrade {
		t.Helper()
		stored, err := kinds.NodeUpgrades.Apply(ctx, &v1alpha1.NodeUpgrade{ObjectMeta: named, Status: status}, "node-agent", "status")
		if err != nil {
			t.Fatalf("as the agent: %v", err)
		}
		return stored
	}

	asCoordinator(spec)
	waiting := v1alpha1.NodeUpgradeStatus{Step: v1alpha1.StepWaiting, Reason: spec.Reason, Until: &until, Installed: []string{"v1.34.3"}}
	if got := asAgent(waiting); got.Spec.Version != spec.Version || got.Spec.Reason != spec.Reason {
		t.Errorf("the agent's status took the spec away: %+v", got.Spec)
	}

	spec.Reason, spec.Until = v1alpha1.ReasonNoSlot, nil
	got := asCoordinator(spec)
	if diff := cmp.Diff(waiting, got.Status); diff != "" {
		t.Errorf("the coordinator's spec changed the status (-want +got):\n%s", diff)
	}
	if got.Spec.Until != nil || got.Generation != 2 {
		t.Errorf("a field that the coordinator no longer sets stays, or the generation does not count: until %v, generation %d", got.Spec.Until, got.Generation)
	}

	locking := v1alpha1.NodeUpgradeStatus{Step: v1alpha1.StepLocking, ObservedGeneration: got.Generation}
	if diff := cmp.Diff(locking, asAgent(locking).Status); diff != "" {
		t.Errorf("fields that the agent no longer sets stay (-want +got):\n%s", diff)
	}
}
