package coordinator

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// create creates an upgrade that the policy's automatic asks for. It succeeds if the
// upgrade exists: another coordinator was faster.
func (c *Coordinator) create(ctx context.Context, u *v1alpha1.ClusterUpgrade) error {
	created, err := c.ours.ClusterUpgrades.Create(ctx, u, metav1.CreateOptions{FieldManager: manager})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating ClusterUpgrade %s: %w", u.Name, err)
	}
	c.log.Info("created an upgrade, as the policy asks for it", "upgrade", u.Name, "type", u.Spec.Type, "version", u.Spec.Version)
	c.recordCreated(created)
	return nil
}

// writeStatuses applies the status of each upgrade that differs from the stored one.
func (c *Coordinator) writeStatuses(ctx context.Context, stored []v1alpha1.ClusterUpgrade, wanted []plan.UpgradeStatus) error {
	byUID := make(map[string]*v1alpha1.ClusterUpgrade, len(stored))
	for i := range stored {
		byUID[string(stored[i].UID)] = &stored[i]
	}
	for _, w := range wanted {
		was := byUID[w.UID]
		if was == nil || was.Name != w.Name || equality.Semantic.DeepEqual(was.Status, w.Status) {
			continue
		}
		// Only on what it was decided from: what is set once stays, and an upgrade that
		// was created again under its name is another one. The API server does not
		// compare the UID where a status is applied.
		object := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: w.Name, ResourceVersion: was.ResourceVersion}, Status: w.Status}
		if _, err := c.ours.ClusterUpgrades.Apply(ctx, object, manager, "status"); err != nil {
			return fmt.Errorf("applying the status of ClusterUpgrade %s: %w", w.Name, err)
		}
		c.recordProgress(was, w.Status)
	}
	return nil
}

// succeeded returns the reason and message of an upgrade's condition Succeeded.
func succeeded(s v1alpha1.ClusterUpgradeStatus) (reason, message string) {
	if condition := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionSucceeded); condition != nil {
		return condition.Reason, condition.Message
	}
	return "", ""
}
