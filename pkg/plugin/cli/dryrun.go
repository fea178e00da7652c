package cli

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
)

// forDryRuns returns a client that prints no warnings: not of namespaces that only warn of such pods.
func (r *reader) forDryRuns() (kubernetes.Interface, error) {
	quiet := rest.CopyConfig(r.access)
	quiet.WarningHandler = rest.NoWarnings{}
	return kubernetes.NewForConfig(quiet)
}

// may reports whether the user has a right. It reports false if that is not known.
func may(ctx context.Context, client kubernetes.Interface, right authorizationv1.ResourceAttributes) bool {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
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

// A trial is a write of ours that admission may refuse.
type trial struct {
	what  string
	right authorizationv1.ResourceAttributes
	try   func() error
}

// tryWrites asks the API server, by dry runs with the rights of the user, whether it would take what the coordinator, the
// agents and the controllers of their pods write. What the user may not write, or a webhook takes no dry runs of, is left out.
func (e *examination) tryWrites(pods map[string]corev1.PodTemplateSpec) (tried []doctor.Write) {
	client, err := e.reader.forDryRuns()
	// Only administrators write the Leases of our namespace.
	if err != nil || !may(e.ctx, client, authorizationv1.ResourceAttributes{Verb: "update", Group: v1alpha1.Group, Resource: "upgradepolicies", Name: v1alpha1.PolicyName}) {
		return nil
	}
	for _, one := range append(e.podWrites(client, pods), e.turnWrites(client)...) {
		if !may(e.ctx, client, one.right) {
			continue
		}
		switch err := one.try(); {
		case err == nil:
			tried = append(tried, doctor.Write{What: one.what})
		case refuses(err):
			tried = append(tried, doctor.Write{What: one.what, Refusal: err.Error()})
		}
	}
	return tried
}

// podWrites are the pods of our workloads, by what they are.
func (e *examination) podWrites(client kubernetes.Interface, pods map[string]corev1.PodTemplateSpec) (writes []trial) {
	for _, what := range slices.Sorted(maps.Keys(pods)) {
		template := pods[what]
		pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
		pod.GenerateName = "doctor-"
		writes = append(writes, trial{what, authorizationv1.ResourceAttributes{Namespace: v1alpha1.Namespace, Verb: "create", Resource: "pods"}, func() error {
			_, err := client.CoreV1().Pods(v1alpha1.Namespace).Create(e.ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		}})
	}
	return writes
}

// turnWrites are what an agent writes around its node's turn: it cordons, evicts, and takes a slot.
func (e *examination) turnWrites(client kubernetes.Interface) (writes []trial) {
	if len(e.facts.Nodes) > 0 {
		writes = append(writes, trial{"cordons", authorizationv1.ResourceAttributes{Verb: "patch", Resource: "nodes"}, func() error {
			_, err := client.CoreV1().Nodes().Patch(e.ctx, e.facts.Nodes[0].Name, types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`),
				metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		}})
	}
	evictions := authorizationv1.ResourceAttributes{Namespace: v1alpha1.Namespace, Verb: "create", Resource: "pods", Subresource: "eviction"}
	if list, err := client.CoreV1().Pods(v1alpha1.Namespace).List(e.ctx, metav1.ListOptions{Limit: 1}); err == nil && len(list.Items) > 0 {
		writes = append(writes, trial{"evictions", evictions, func() error {
			return client.PolicyV1().Evictions(v1alpha1.Namespace).Evict(e.ctx, &policyv1.Eviction{
				ObjectMeta:    metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: list.Items[0].Name},
				DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
			})
		}})
	}
	leases := authorizationv1.ResourceAttributes{Namespace: v1alpha1.Namespace, Verb: "create", Group: coordinationv1.GroupName, Resource: "leases"}
	return append(writes, trial{"Leases, which are slots", leases, func() error {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{GenerateName: "doctor-"}}
		_, err := client.CoordinationV1().Leases(v1alpha1.Namespace).Create(e.ctx, lease, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}})
}
