package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// create creates the automatic upgrade u, unless that is nil. It succeeds if the
// upgrade exists already: another coordinator created it.
func (c *Coordinator) create(ctx context.Context, u *v1alpha1.ClusterUpgrade) error {
	if u == nil {
		return nil
	}
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

// writeUpgrades writes the statuses of upgrades, after the records of those that end
// and the version that late nodes follow. It returns the UIDs of the upgrades whose
// status is not written.
func (c *Coordinator) writeUpgrades(ctx context.Context, s *fleet.Snapshot, policy *v1alpha1.UpgradePolicy, p plan.Plan) (unwritten map[string]bool, err error) {
	lacking, recordErr := c.createRecords(ctx, p.Records)
	policyErr := c.writePolicyStatus(ctx, policy, s.Policy, p.Policy)
	if policyErr != nil && p.Policy != nil {
		lacking[p.Policy.Upgrade.UID] = true
	}
	ready := slices.DeleteFunc(slices.Clone(p.Statuses), func(w plan.UpgradeStatus) bool { return lacking[w.UID] })
	unwritten, statusErr := c.writeStatuses(ctx, s.Upgrades, ready)
	maps.Copy(unwritten, lacking)
	return unwritten, errors.Join(recordErr, policyErr, statusErr)
}

// writeStatuses applies the status of each upgrade that differs from the stored one.
// It returns the UIDs of those that it could not write.
func (c *Coordinator) writeStatuses(ctx context.Context, stored []v1alpha1.ClusterUpgrade, wanted []plan.UpgradeStatus) (unwritten map[string]bool, err error) {
	byUID := make(map[string]*v1alpha1.ClusterUpgrade, len(stored))
	for i := range stored {
		byUID[string(stored[i].UID)] = &stored[i]
	}
	unwritten = map[string]bool{}
	var problems []error
	for _, w := range wanted {
		was := byUID[w.UID]
		if was == nil || was.Name != w.Name || equality.Semantic.DeepEqual(was.Status, w.Status) {
			continue
		}
		if err := c.writeStatus(ctx, was, w.Status); err != nil {
			unwritten[w.UID] = true
			problems = append(problems, err)
		}
	}
	return unwritten, errors.Join(problems...)
}

// writeStatus applies the status only to the object version that it was decided from:
// it must not overwrite newer values, nor apply to another upgrade of the same name.
// The API server does not compare the UID when a status is applied.
func (c *Coordinator) writeStatus(ctx context.Context, was *v1alpha1.ClusterUpgrade, status v1alpha1.ClusterUpgradeStatus) error {
	object := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: was.Name, ResourceVersion: was.ResourceVersion}, Status: status}
	if _, err := c.ours.ClusterUpgrades.Apply(ctx, object, manager, "status"); err != nil {
		return fmt.Errorf("applying the status of ClusterUpgrade %s: %w", was.Name, err)
	}
	c.recordProgress(was, status)
	return nil
}

// succeeded returns the reason and message of an upgrade's condition Succeeded.
func succeeded(s v1alpha1.ClusterUpgradeStatus) (reason, message string) {
	if condition := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionSucceeded); condition != nil {
		return condition.Reason, condition.Message
	}
	return "", ""
}
