package cli

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// sign says in the object who asks for it.
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

// user returns the name by which the API server knows the user. Where it does not
// say, or the name is longer than any person's, nothing is signed.
func (r *reader) user(ctx context.Context) string {
	review, err := r.reviews.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || len(review.Status.UserInfo.Username) > maxReason {
		return ""
	}
	return review.Status.UserInfo.Username
}

// requestedBy is who asked for an upgrade: a user, or the policy by way of the
// coordinator. Empty: that is not known.
func requestedBy(user, createdBy string) string {
	if createdBy == v1alpha1.CreatedByCoordinator {
		return "the UpgradePolicy"
	}
	return user
}
