package cli

import (
	"context"
	"errors"
	"net/http"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// tryHealthJob asks the API server, by dry runs with the rights of the user, whether it would take the Job that kubeadm
// creates before it upgrades, and the Job's pod. It returns nil if it would, or if that is not known: the user may not
// create them, or a webhook takes no dry runs.
func (r *reader) tryHealthJob(ctx context.Context, f preflight.Facts) *preflight.Refusal {
	job := preflight.HealthJob(f, r.now())
	if job == nil {
		return nil
	}
	quiet := rest.CopyConfig(r.access)
	quiet.WarningHandler = rest.NoWarnings{} // of namespaces that only warn of such pods
	client, err := kubernetes.NewForConfig(quiet)
	if err != nil {
		return nil
	}
	trial := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	if mayCreate(ctx, client, batchv1.GroupName, "jobs", job.Namespace) {
		taken, err := client.BatchV1().Jobs(job.Namespace).Create(ctx, job, trial)
		switch {
		case err == nil:
			job = taken // as admission has changed it
		case refuses(err):
			return &preflight.Refusal{Kind: "Job", Message: err.Error()}
		}
	}
	if !mayCreate(ctx, client, corev1.GroupName, "pods", job.Namespace) {
		return nil
	}
	pod := &corev1.Pod{ObjectMeta: job.Spec.Template.ObjectMeta, Spec: job.Spec.Template.Spec}
	pod.GenerateName = job.Name + "-"
	if _, err := client.CoreV1().Pods(job.Namespace).Create(ctx, pod, trial); refuses(err) {
		return &preflight.Refusal{Kind: "Pod", Message: err.Error()}
	}
	return nil
}

func mayCreate(ctx context.Context, client kubernetes.Interface, group, resource, namespace string) bool {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Group: group, Resource: resource},
	}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	return err == nil && answer.Status.Allowed
}

// refuses reports whether admission refused the object, as it would without a dry run, or failed because of a webhook that
// does not answer. That a webhook takes no dry runs says nothing, nor that the API server is busy.
func refuses(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	status := answer.Status()
	says := func(text string) bool { return strings.Contains(status.Message, text) }
	switch status.Code {
	case http.StatusBadRequest:
		return !says("does not support dry run")
	case http.StatusForbidden, http.StatusUnprocessableEntity:
		return true
	}
	return says("denied the request") || says("denied request") || says("failed calling webhook") // webhooks and policies choose the code
}
