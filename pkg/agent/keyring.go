package agent

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// keyring returns the keys that may sign the index of images. It reads live, so that a
// key that was removed from the policy is no longer trusted.
func (a *Agent) keyring(ctx context.Context) (string, error) {
	policy, err := a.Upgrades.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading which keys may sign images, in the UpgradePolicy: %w", err)
	}
	return policy.Spec.Source.Keyring, nil
}
