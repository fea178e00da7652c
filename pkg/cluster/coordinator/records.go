package coordinator

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// createRecords creates the records of upgrades that end now. It comes before their
// outcome is written: an upgrade that has ended has its record. One that exists
// already is not changed. It returns the UIDs of upgrades that lack a record.
func (c *Coordinator) createRecords(ctx context.Context, records []v1alpha1.UpgradeRecord) (lacking map[string]bool, err error) {
	lacking = map[string]bool{}
	var problems []error
	for i := range records {
		_, err := c.ours.UpgradeRecords.Create(ctx, &records[i], metav1.CreateOptions{FieldManager: manager})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			lacking[records[i].Upgrade.UID] = true
			problems = append(problems, fmt.Errorf("creating UpgradeRecord %s: %w", records[i].Name, err))
		}
	}
	return lacking, errors.Join(problems...)
}
