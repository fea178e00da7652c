package snapshot

import (
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/hook"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// readHookRights asks the API server what keeps the coordinator from starting the policy's hooks.
func (r *factsReader) readHookRights() {
	read := map[string]bool{}
	for _, h := range r.facts.Policy.Hooks {
		if read[h.CronJobName] {
			continue
		}
		read[h.CronJobName] = true
		lack, err := r.hookLacks(h)
		if err != nil {
			r.addUnread(fmt.Sprintf("What the coordinator may start for hook %s is not known (%s).", h.Name, problemOf(err)))
		}
		if lack != nil {
			r.facts.HookRights = append(r.facts.HookRights, *lack)
		}
	}
}

// hookLacks returns what a hook lacks. Nil: nothing, or who asks may not read its CronJob.
func (r *factsReader) hookLacks(h v1alpha1.Hook) (*preflight.Lack, error) {
	full := v1alpha1.HooksNamespace + "/" + h.CronJobName
	for _, verb := range []string{"get", "start"} {
		attributes := &authorizationv1.ResourceAttributes{Namespace: v1alpha1.HooksNamespace, Verb: verb, Group: "batch", Resource: "cronjobs", Name: h.CronJobName}
		review := &authorizationv1.SubjectAccessReview{Spec: coordinatorAccess(attributes)}
		answer, err := r.clients.Kube.AuthorizationV1().SubjectAccessReviews().Create(r.ctx, review, metav1.CreateOptions{})
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller says what it was asked for
		}
		if !answer.Status.Allowed {
			return &preflight.Lack{Message: fmt.Sprintf("Hook %s needs CronJob %s, which the coordinator may not start.", h.Name, full),
				Advice: "Its owner lets it: " + hook.Grant(h.CronJobName)}, nil
		}
	}
	found, err := r.clients.Kube.BatchV1().CronJobs(v1alpha1.HooksNamespace).Get(r.ctx, h.CronJobName, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, nil
	case apierrors.IsNotFound(err):
		return &preflight.Lack{Message: fmt.Sprintf("Hook %s needs CronJob %s, which does not exist.", h.Name, full),
			Advice: "Create it with spec.suspend: true, or delete the Role that lets the coordinator start it."}, nil
	case err != nil:
		return nil, err //nolint:wrapcheck // the caller says what it was asked for
	case found.Spec.Suspend == nil || !*found.Spec.Suspend:
		return &preflight.Lack{Message: fmt.Sprintf("CronJob %s of hook %s also runs by its schedule, and is not started.", full, h.Name), Advice: "Set its spec.suspend to true."}, nil
	}
	return nil, nil
}
