package sim

import (
	"net/http"

	"k8s.io/client-go/kubernetes"
	admissionv1client "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryv1client "k8s.io/client-go/kubernetes/typed/discovery/v1"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/client"
)

// kube is the part of a kubernetes.Interface that agents and coordinators use.
type kube struct {
	kubernetes.Interface
	core         corev1client.CoreV1Interface
	coordination coordinationv1client.CoordinationV1Interface
	apps         appsv1client.AppsV1Interface
	policy       policyv1client.PolicyV1Interface
	admission    admissionv1client.AdmissionregistrationV1Interface
	discovery    discoveryv1client.DiscoveryV1Interface
}

func (k kube) CoreV1() corev1client.CoreV1Interface                         { return k.core }
func (k kube) CoordinationV1() coordinationv1client.CoordinationV1Interface { return k.coordination }
func (k kube) AppsV1() appsv1client.AppsV1Interface                         { return k.apps }
func (k kube) PolicyV1() policyv1client.PolicyV1Interface                   { return k.policy }
func (k kube) DiscoveryV1() discoveryv1client.DiscoveryV1Interface          { return k.discovery }
func (k kube) AdmissionregistrationV1() admissionv1client.AdmissionregistrationV1Interface {
	return k.admission
}

// clients are the clients of one program.
type clients struct {
	config *rest.Config
	kube   kube
	ours   *client.Interface
}

func newClients(t *transport) clients {
	c := clients{config: &rest.Config{Host: "http://simulated", Transport: t, QPS: -1}}
	c.config.ContentType, c.config.AcceptContentTypes = "application/json", "application/json"
	over := &http.Client{Transport: t}
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
	c.ours, err = client.New(c.config)
	must(err)
	return c
}
