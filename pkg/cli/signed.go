package cli

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// user returns the name by which the API server knows the user. It is empty where the
// API server does not say it, or where it is too long: then nothing is signed.
func (r *reader) user(ctx context.Context) string {
	review, err := r.reviews.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || len(review.Status.UserInfo.Username) > maxReason {
		return ""
	}
	return review.Status.UserInfo.Username
}
