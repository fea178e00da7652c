package snapshot

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// readGateRights asks the API server which rights the coordinator's account lacks for the policy's gates.
func (r *factsReader) readGateRights() {
	for _, g := range r.facts.Policy.Gates {
		for _, need := range needs(g) {
			missing, err := need.lacks(r.ctx, r.clients.Kube)
			if err != nil {
				r.addUnread(fmt.Sprintf("What the coordinator may read for gate %s is not known (%s).", g.Name, problemOf(err)))
			}
			if missing != nil {
				r.facts.GateRights = append(r.facts.GateRights, need.describe(g.Name, missing))
			}
		}
	}
}

// coordinatorAccess is a question about the coordinator's account, with the groups that the API server
// gives to it.
func coordinatorAccess(resource *authorizationv1.ResourceAttributes) authorizationv1.SubjectAccessReviewSpec {
	return authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + v1alpha1.Namespace + ":coordinator",
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + v1alpha1.Namespace, "system:authenticated"},
		ResourceAttributes: resource,
	}
}

// gateNeed is what a gate reads: objects, or a Secret.
type gateNeed struct {
	objects *v1alpha1.ObjectGate
	secret  string
}

// needs returns what a gate reads.
func needs(g v1alpha1.Gate) (list []gateNeed) {
	switch {
	case g.Object != nil:
		list = append(list, gateNeed{objects: g.Object})
	case g.Prometheus != nil:
		for _, ref := range []*v1alpha1.SecretKeyReference{g.Prometheus.CASecretRef, g.Prometheus.TokenSecretRef} {
			if ref != nil {
				list = append(list, gateNeed{secret: ref.Name})
			}
		}
	}
	return list
}

// lacks returns the right that the coordinator lacks. Nil: it lacks none, or the API server has no
// such kind, which the gate's answer says.
func (n gateNeed) lacks(ctx context.Context, kube kubernetes.Interface) (*authorizationv1.ResourceAttributes, error) {
	resource, err := n.resource(ctx, kube)
	if resource == nil || err != nil {
		return nil, err
	}
	review := &authorizationv1.SubjectAccessReview{Spec: coordinatorAccess(resource)}
	answer, err := kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil || answer.Status.Allowed {
		return nil, err //nolint:wrapcheck // the caller says what it was asked for
	}
	return resource, nil
}

// resource returns what the coordinator has to be allowed to read. Nil: the API server has no such kind.
func (n gateNeed) resource(ctx context.Context, kube kubernetes.Interface) (*authorizationv1.ResourceAttributes, error) {
	if n.objects == nil {
		return &authorizationv1.ResourceAttributes{Namespace: v1alpha1.Namespace, Verb: "get", Resource: "secrets", Name: n.secret}, nil
	}
	version, err := schema.ParseGroupVersion(n.objects.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("apiVersion of a gate: %w", err)
	}
	list, err := kube.Discovery().ServerResourcesForGroupVersionWithContext(ctx, n.objects.APIVersion)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading which kinds %s has: %w", n.objects.APIVersion, err)
	}
	for _, r := range list.APIResources {
		if r.Kind != n.objects.Kind || strings.Contains(r.Name, "/") {
			continue
		}
		attributes := &authorizationv1.ResourceAttributes{Namespace: n.objects.Namespace, Verb: "list", Group: version.Group, Version: version.Version, Resource: r.Name}
		if n.objects.Name != "" {
			attributes.Verb, attributes.Name = "get", n.objects.Name
		}
		return attributes, nil
	}
	return nil, nil
}

// describe returns a missing right with a command that grants it.
func (n gateNeed) describe(gate string, missing *authorizationv1.ResourceAttributes) preflight.Lack {
	if n.objects == nil {
		const command = "kubectl -n NAMESPACE create role coordinator-secret-SECRET --verb=get --resource=secrets --resource-name=SECRET && " +
			"kubectl -n NAMESPACE create rolebinding coordinator-secret-SECRET --role=coordinator-secret-SECRET --serviceaccount=NAMESPACE:coordinator"
		return preflight.Lack{
			Message: fmt.Sprintf("Gate %s needs Secret %s/%s, which the coordinator may not read.", gate, v1alpha1.Namespace, n.secret),
			Advice:  "With Helm, add it to the value secrets; otherwise: " + strings.NewReplacer("NAMESPACE", v1alpha1.Namespace, "SECRET", n.secret).Replace(command),
		}
	}
	// kubectl before 1.33 reads what begins with a brace as JSON, and not as YAML.
	const role = `echo '{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "gates-%s", "labels": {%q: "true"}}, ` +
		`"rules": [{"apiGroups": [%q], "resources": [%q], "verbs": ["get", "list"]}]}' | kubectl apply -f -`
	group := schema.GroupResource{Group: missing.Group, Resource: missing.Resource}
	return preflight.Lack{
		Message: fmt.Sprintf("Gate %s needs %s of %s, which the coordinator may not read.", gate, n.objects.Kind, n.objects.APIVersion),
		Advice:  fmt.Sprintf(role, group, aggregateToGates, missing.Group, missing.Resource),
	}
}

// aggregateToGates is the label of ClusterRoles that let the coordinator read objects for gates.
const aggregateToGates = "kubectl-upgrade.dev/aggregate-to-gates"
