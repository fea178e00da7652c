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

// recall returns the policy with what the coordinator remembers in its status: what the CoordinatorState
// has. If there is none, or if a former version, which stored it in the status, has written that since, the
// policy's own status counts. If the policy has no status either, records show what was taken back.
func recall(policy *v1alpha1.UpgradePolicy, s clusterstate.Snapshot) *v1alpha1.UpgradePolicy {
	recalled := *policy
	switch unseen := policy.Status.ObservedGeneration <= 0; {
	case s.State != nil && (unseen || policy.Status.StateGeneration > 0):
		recalled.Status.RememberedState = s.State.RememberedState
	case unseen:
		recalled.Status.TakenBack = plan.TakenBackByRecords(s.Records)
	}
	return &recalled
}

// remember stores what is to be remembered, if it differs from what is stored, and returns its generation.
// It fails with a conflict if another coordinator has stored something since: one that lags must not
// bring back what has changed.
func (c *Coordinator) remember(ctx context.Context, stored *v1alpha1.CoordinatorState, wanted v1alpha1.RememberedState) (generation int64, err error) {
	object := &v1alpha1.CoordinatorState{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}, RememberedState: wanted}
	switch {
	case stored == nil:
		stored, err = c.ours.CoordinatorStates.Create(ctx, object, metav1.CreateOptions{FieldManager: manager})
	case !equality.Semantic.DeepEqual(stored.RememberedState, wanted):
		object.ObjectMeta = stored.ObjectMeta
		stored, err = c.ours.CoordinatorStates.Update(ctx, object, metav1.UpdateOptions{FieldManager: manager})
	}
	if err != nil {
		return 0, fmt.Errorf("storing CoordinatorState %s: %w", v1alpha1.PolicyName, err)
	}
	return stored.Generation, nil
}
