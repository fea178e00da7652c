package sim

import (
	"context"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes"
	admissionv1client "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryv1client "k8s.io/client-go/kubernetes/typed/discovery/v1"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// kubeClients is the part of a kubernetes.Interface that coordinators use.
type kubeClients struct {
	kubernetes.Interface
	core         corev1client.CoreV1Interface
	coordination coordinationv1client.CoordinationV1Interface
	apps         appsv1client.AppsV1Interface
	policy       policyv1client.PolicyV1Interface
	admission    admissionv1client.AdmissionregistrationV1Interface
	discovery    discoveryv1client.DiscoveryV1Interface
	batch        batchv1client.BatchV1Interface
}

func (k kubeClients) CoreV1() corev1client.CoreV1Interface { return k.core }
func (k kubeClients) CoordinationV1() coordinationv1client.CoordinationV1Interface {
	return k.coordination
}
func (k kubeClients) AppsV1() appsv1client.AppsV1Interface                { return k.apps }
func (k kubeClients) PolicyV1() policyv1client.PolicyV1Interface          { return k.policy }
func (k kubeClients) DiscoveryV1() discoveryv1client.DiscoveryV1Interface { return k.discovery }
func (k kubeClients) BatchV1() batchv1client.BatchV1Interface             { return k.batch }
func (k kubeClients) AdmissionregistrationV1() admissionv1client.AdmissionregistrationV1Interface {
	return k.admission
}

// Discovery knows no kind, so that no check asks about the rights of gates.
func (k kubeClients) Discovery() discovery.DiscoveryInterfaces {
	return &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}}
}

// AuthorizationV1 allows everything that is asked for.
func (k kubeClients) AuthorizationV1() authorizationv1client.AuthorizationV1Interface {
	return allowing{}
}

type allowing struct {
	authorizationv1client.AuthorizationV1Interface
}

func (allowing) SubjectAccessReviews() authorizationv1client.SubjectAccessReviewInterface {
	return allowed{}
}

type allowed struct {
	authorizationv1client.SubjectAccessReviewInterface
}

func (allowed) Create(_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	review.Status.Allowed = true
	return review, nil
}

// clients are the clients of one program.
type clients struct {
	config *rest.Config
	kube   kubeClients
	agents kube.Interface
	ours   *kube.Kinds
}

// newClients returns clients over t, with a wrapper around it. Those of package kube, which do most of the
// work, get objects in place of JSON.
func newClients(t *transport, wrap func(http.RoundTripper) http.RoundTripper) clients {
	c := clients{config: &rest.Config{Host: "http://simulated", Transport: wrap(t), QPS: -1}}
	c.config.ContentType, c.config.AcceptContentTypes = "application/json", "application/json"
	over := &http.Client{Transport: c.config.Transport}
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	var err error
	c.kube.core, err = corev1client.NewForConfigAndClient(c.config, over)
	must(err)
	c.kube.coordination, err = coordinationv1client.NewForConfigAndClient(c.config, over)
	must(err)
	c.kube.apps, err = appsv1client.NewForConfigAndClient(c.config, over)
	must(err)
	c.kube.policy, err = policyv1client.NewForConfigAndClient(c.config, over)
	must(err)
	c.kube.admission, err = admissionv1client.NewForConfigAndClient(c.config, over)
	must(err)
	c.kube.discovery, err = discoveryv1client.NewForConfigAndClient(c.config, over)
	must(err)
	c.kube.batch, err = batchv1client.NewForConfigAndClient(c.config, over)
	must(err)
	fast, direct := *t, rest.CopyConfig(c.config)
	fast.answers = newAnswers()
	direct.Transport, direct.NegotiatedSerializer = wrap(&fast), fast.answers
	c.agents, err = kube.NewForConfigAndClient(direct, &http.Client{Transport: direct.Transport})
	must(err)
	c.ours, err = kube.NewKinds(direct)
	must(err)
	return c
}
