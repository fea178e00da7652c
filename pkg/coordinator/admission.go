package coordinator

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// writeAdmission applies a node's condition Admitted, with the time at which its
// reason ends, if it differs from the stored one. The rest of the status is the
// agent's.
func (c *Coordinator) writeAdmission(ctx context.Context, was *v1alpha1.NodeUpgrade, n plan.NodePlan) error {
	var stored v1alpha1.NodeUpgradeStatus
	if was != nil {
		stored.HoldEndTime = was.Status.HoldEndTime
		if admitted := meta.FindStatusCondition(was.Status.Conditions, v1alpha1.ConditionAdmitted); admitted != nil {
			stored.Conditions = []metav1.Condition{*admitted}
		}
		if _, cause := was.Status.Cause(); cause == n.Message && n.Reason.Info().Giver == v1alpha1.GivenByAgent {
			n.Message = "" // the condition UpToDate has it
		}
	}
	wanted := admission(stored, n, time.Now())
	if equality.Semantic.DeepEqual(stored, wanted) {
		return nil
	}
	object := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Status: wanted}
	if _, err := c.ours.NodeUpgrades.Apply(ctx, object, manager, "status"); err != nil {
		return fmt.Errorf("applying the condition %s of NodeUpgrade %s: %w", v1alpha1.ConditionAdmitted, n.Name, err)
	}
	return nil
}

// admission returns the coordinator's part of a NodeUpgrade's status.
func admission(stored v1alpha1.NodeUpgradeStatus, n plan.NodePlan, now time.Time) v1alpha1.NodeUpgradeStatus {
	present, admitted := n.Admission()
	if !present {
		return v1alpha1.NodeUpgradeStatus{}
	}
	condition := metav1.Condition{
		Type: v1alpha1.ConditionAdmitted, Status: metav1.ConditionFalse, Reason: string(n.Reason), Message: n.Message,
		LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second)),
	}
	if admitted {
		condition.Status = metav1.ConditionTrue
	}
	wanted := *stored.DeepCopy()
	meta.SetStatusCondition(&wanted.Conditions, condition)
	wanted.HoldEndTime = nil
	if n.Until != nil {
		wanted.HoldEndTime = &metav1.Time{Time: n.Until.UTC().Truncate(time.Second)}
	}
	return wanted
}
