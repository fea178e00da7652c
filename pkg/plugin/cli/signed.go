package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// sign writes the user's name into the object.
func (r *reader) sign(ctx context.Context, object metav1.Object) {
	if user := r.user(ctx); user != "" {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[v1alpha1.RequestedByAnnotation] = user
		object.SetAnnotations(annotations)
	}
}

// signIgnored writes the user's name into the checks and gates that the upgrade ignores.
func (r *reader) signIgnored(ctx context.Context, u *v1alpha1.ClusterUpgrade) {
	if len(u.Spec.IgnoreChecks)+len(u.Spec.IgnoreGates) == 0 {
		return
	}
	user := r.user(ctx)
	for i := range u.Spec.IgnoreChecks {
		u.Spec.IgnoreChecks[i].By = user
	}
	for i := range u.Spec.IgnoreGates {
		u.Spec.IgnoreGates[i].By = user
	}
}

// change changes an upgrade's spec, and records the user who does so. It reads the upgrade
// again on a conflict, as the generation that the change makes is recorded, too. change
// returns the fields to merge into the spec, or nothing if none is to change.
func (r *reader) change(ctx context.Context, name string, d dryRun, change func(u *v1alpha1.ClusterUpgrade, user string) (map[string]any, error)) (changed bool, err error) {
	user := r.user(ctx)
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		u, err := r.kinds.ClusterUpgrades.Get(ctx, name, metav1.GetOptions{})
		switch {
		case isMissing(err):
			return fmt.Errorf("there is no ClusterUpgrade %q; `kubectl get clusterupgrades` lists them", name)
		case err != nil:
			return explain("reading ClusterUpgrade "+name, err)
		}
		if err := checkAnswer("reading ClusterUpgrade "+name, u, name); err != nil {
			return err
		}
		fields, err := change(u, user)
		if changed = len(fields) > 0; err != nil || !changed || d.mode == dryRunClient {
			return err
		}
		metadata := map[string]any{"uid": u.UID, "resourceVersion": u.ResourceVersion}
		if user != "" {
			metadata["annotations"] = map[string]string{
				v1alpha1.ChangedByAnnotation: user, v1alpha1.ChangedGenerationAnnotation: strconv.FormatInt(u.Generation+1, 10),
			}
		}
		patch, err := json.Marshal(map[string]any{"metadata": metadata, "spec": fields})
		if err != nil {
			return err
		}
		_, err = r.kinds.ClusterUpgrades.Patch(ctx, name, types.MergePatchType, patch, d.patchOptions())
		if apierrors.IsConflict(err) {
			return err
		}
		return explain("changing ClusterUpgrade "+name, err)
	})
	return changed, err
}

// user returns the name by which the API server knows the user. It is empty where the
// API server does not say it, or where it is too long: then nothing is signed.
func (r *reader) user(ctx context.Context) string {
	review, err := r.kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || len(review.Status.UserInfo.Username) > maxReason {
		return ""
	}
	return review.Status.UserInfo.Username
}
