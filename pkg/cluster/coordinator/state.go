package coordinator

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// recall returns the policy with the status that the coordinator remembers. Without a
// CoordinatorState that is the policy's own, where former versions kept it. A policy without either
// is new, or was restored from a backup of people's objects: what was taken back is in the records.
func recall(policy *v1alpha1.UpgradePolicy, s clusterstate.Snapshot) *v1alpha1.UpgradePolicy {
	recalled := *policy
	switch {
	case s.State != nil:
		recalled.Status.RememberedState = s.State.RememberedState
	case policy.Status.ObservedGeneration <= 0:
		recalled.Status.TakenBack = plan.TakenBackByRecords(s.Records)
	}
	return &recalled
}

// remember stores what is to be remembered, if it differs from what is stored. It fails with a
// conflict if another coordinator has stored something since: one that lags must not bring back
// what has changed.
func (c *Coordinator) remember(ctx context.Context, stored *v1alpha1.CoordinatorState, wanted v1alpha1.RememberedState) (err error) {
	object := &v1alpha1.CoordinatorState{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}, RememberedState: wanted}
	switch {
	case stored == nil:
		_, err = c.ours.CoordinatorStates.Create(ctx, object, metav1.CreateOptions{FieldManager: manager})
	case !equality.Semantic.DeepEqual(stored.RememberedState, wanted):
		object.ObjectMeta = stored.ObjectMeta
		_, err = c.ours.CoordinatorStates.Update(ctx, object, metav1.UpdateOptions{FieldManager: manager})
	}
	if err != nil {
		return fmt.Errorf("storing CoordinatorState %s: %w", v1alpha1.PolicyName, err)
	}
	return nil
}
