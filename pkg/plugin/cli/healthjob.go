package cli

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	client, err := r.forDryRuns()
	if err != nil {
		return nil
	}
	trial := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	if may(ctx, client, authorizationv1.ResourceAttributes{Namespace: job.Namespace, Verb: "create", Group: batchv1.GroupName, Resource: "jobs"}) {
		taken, err := client.BatchV1().Jobs(job.Namespace).Create(ctx, job, trial)
		switch {
		case err == nil:
			job = taken // as admission has changed it
		case refuses(err):
			return &preflight.Refusal{Kind: "Job", Message: err.Error()}
		}
	}
	if !may(ctx, client, authorizationv1.ResourceAttributes{Namespace: job.Namespace, Verb: "create", Resource: "pods"}) {
		return nil
	}
	pod := &corev1.Pod{ObjectMeta: job.Spec.Template.ObjectMeta, Spec: job.Spec.Template.Spec}
	pod.GenerateName = job.Name + "-"
	if _, err := client.CoreV1().Pods(job.Namespace).Create(ctx, pod, trial); refuses(err) {
		return &preflight.Refusal{Kind: "Pod", Message: err.Error()}
	}
	return nil
}
