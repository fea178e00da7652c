package coordinator

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
)

// writeAdmission applies a node's condition Admitted, with the time at which its
// reason ends, if it differs from the stored one. The rest of the status is the
// agent's.
func (c *Coordinator) writeAdmission(ctx context.Context, was *v1alpha1.NodeUpgrade, n plan.NodePlan, generation int64) error {
	wanted := admission(was, n, generation, time.Now())
	if equality.Semantic.DeepEqual(coordinatorsPart(was), wanted) {
		return nil
	}
	object := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Status: wanted}
	if _, err := c.ours.NodeUpgrades.Apply(ctx, object, manager, "status"); err != nil {
		return fmt.Errorf("applying the condition %s of NodeUpgrade %s: %w", v1alpha1.ConditionAdmitted, n.Name, err)
	}
	return nil
}

// coordinatorsPart returns what the coordinator owns of a NodeUpgrade's status.
func coordinatorsPart(n *v1alpha1.NodeUpgrade) v1alpha1.NodeUpgradeStatus {
	part := v1alpha1.NodeUpgradeStatus{HoldEndTime: n.Status.HoldEndTime}
	if admitted := meta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionAdmitted); admitted != nil {
		part.Conditions = []metav1.Condition{*admitted}
	}
	return part
}

// admission returns what the coordinator's part should be.
func admission(was *v1alpha1.NodeUpgrade, n plan.NodePlan, generation int64, now time.Time) v1alpha1.NodeUpgradeStatus {
	present, admitted := n.Admission()
	if !present {
		return v1alpha1.NodeUpgradeStatus{}
	}
	condition := metav1.Condition{
		Type: v1alpha1.ConditionAdmitted, Status: metav1.ConditionFalse, Reason: string(n.Reason), Message: n.Message,
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second)),
	}
	if admitted {
		condition.Status = metav1.ConditionTrue
	}
	if _, cause := was.Status.Cause(); cause == n.Message && n.Reason.Info().Giver == v1alpha1.GivenByAgent {
		condition.Message = "" // the condition UpToDate has it
	}
	part := coordinatorsPart(was)
	meta.SetStatusCondition(&part.Conditions, condition)
	part.HoldEndTime = nil
	if n.Until != nil {
		part.HoldEndTime = &metav1.Time{Time: n.Until.UTC().Truncate(time.Second)}
	}
	return part
}
