package coordinator_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestStateOutlivesThePolicy checks that a policy which is restored from a backup without its status, or created again,
// goes on with everything that the former one knew: which version late nodes follow, since when each version has been
// offered, what ran, what was taken back, and the turns of hooks.
func TestStateOutlivesThePolicy(t *testing.T) {
	c := newCluster(t, "cp1")
	c.index.offer("v1.34.4")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	end := c.startCoordinator("one")
	c.startAgent("cp1")
	c.eventually(c.succeeded("v1.34.4"))
	c.eventually(func() string {
		if shown := c.shown(); shown.Version == "" {
			return "the policy does not show which version late nodes follow"
		}
		return ""
	})
	end()

	state, err := c.ours.CoordinatorStates.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
	c.must(err)
	state.TakenBack = []v1alpha1.TakenBackVersion{{Version: "v1.34.5", Time: metav1.Now().Rfc3339Copy(), Upgrade: v1alpha1.UpgradeReference{Name: "back", UID: "uid"}}}
	state.LastHookTurn = 7
	state, err = c.ours.CoordinatorStates.Update(t.Context(), state, metav1.UpdateOptions{})
	c.must(err)
	c.index.offer("v1.34.4", "v1.34.5") // would come automatically, had it not been taken back

	policy, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
	c.must(err)
	c.must(c.ours.UpgradePolicies.Delete(t.Context(), policy.Name, metav1.DeleteOptions{}))
	c.policy(func(again *v1alpha1.UpgradePolicy) { again.Spec = policy.Spec })

	end = c.startCoordinator("two")
	want := state.RememberedState
	want.Offered, want.FormerlyOffered = nil, want.Offered // no node needs v1.34.4 any more
	c.eventually(func() string {
		shown := c.shown()
		if len(shown.Offered) != 1 || shown.Offered[0].Version != "v1.34.5" {
			return fmt.Sprintf("the index was not read: %+v", shown.Offered)
		}
		shown.Offered = nil
		return cmp.Diff(want, shown)
	})
	c.checkNoWrites()
	list, err := c.ours.ClusterUpgrades.List(t.Context(), metav1.ListOptions{})
	c.must(err)
	if len(list.Items) != 1 {
		t.Errorf("there are %d upgrades, want v1.34.4 alone: v1.34.5 was taken back", len(list.Items))
	}
	end()

	// A former version, which has no CoordinatorState, has led meanwhile: what it wrote into the policy's status counts.
	policy, err = c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
	c.must(err)
	policy.Status.StateGeneration, policy.Status.LastHookTurn = 0, 8
	_, err = c.ours.UpgradePolicies.UpdateStatus(t.Context(), policy, metav1.UpdateOptions{})
	c.must(err)
	want = c.shown()
	end = c.startCoordinator("three")
	c.eventually(c.remembers(want))
	end()

	// The state was lost: the policy's status has the same.
	c.must(c.ours.CoordinatorStates.Delete(t.Context(), v1alpha1.PolicyName, metav1.DeleteOptions{}))
	c.startCoordinator("four")
	c.eventually(c.remembers(want))
}

// remembers checks what is in the CoordinatorState.
func (c *cluster) remembers(want v1alpha1.RememberedState) func() string {
	return func() string {
		state, err := c.ours.CoordinatorStates.Get(c.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		return cmp.Diff(want, state.RememberedState)
	}
}

// shown returns what the policy shows of the coordinator's state.
func (c *cluster) shown() v1alpha1.RememberedState {
	c.Helper()
	policy, err := c.ours.UpgradePolicies.Get(c.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
	c.must(err)
	return policy.Status.RememberedState
}
