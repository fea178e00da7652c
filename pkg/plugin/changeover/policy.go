package changeover

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/migrate"
)

// record reads the UpgradePolicy, and the record of the changeover on it: nil if there is none.
func (c *Changeover) record(ctx context.Context) (*v1alpha1.UpgradePolicy, *migrate.Record, error) {
	policy, err := c.Ours.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil, fmt.Errorf("there is no UpgradePolicy %s: install kubectl-upgrade first (docs/install.md); its coordinator creates it (%w)", v1alpha1.PolicyName, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading UpgradePolicy %s: %w", v1alpha1.PolicyName, err)
	}
	text, migrated := policy.Annotations[v1alpha1.MigratedAnnotation]
	if !migrated {
		return policy, nil, nil
	}
	record, err := migrate.ParseRecord(text)
	if err == nil && !strings.EqualFold(record.Program, c.Other.Name) {
		err = fmt.Errorf("this cluster was changed over from %s: `kubectl upgrade migrate %s --undo` goes back", record.Program, strings.ToLower(record.Program))
	}
	return policy, &record, err
}

// changePolicy changes the UpgradePolicy, again if another client has written it meanwhile.
func (c *Changeover) changePolicy(ctx context.Context, change func(*v1alpha1.UpgradePolicy)) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		policy, err := c.Ours.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(policy)
		_, err = c.Ours.UpgradePolicies.Update(ctx, policy, metav1.UpdateOptions{FieldManager: manager, DryRun: c.DryRun})
		return err
	})
	if err != nil {
		return fmt.Errorf("changing UpgradePolicy %s: %w", v1alpha1.PolicyName, err)
	}
	return nil
}
