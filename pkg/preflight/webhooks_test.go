package preflight_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
)

func TestWebhooks(t *testing.T) {
	ignore, fail := admissionregistrationv1.Ignore, admissionregistrationv1.Fail
	at := func(name string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "policy", Name: name}}
	}
	url := "https://policy.example/"
	validating := []admissionregistrationv1.ValidatingWebhookConfiguration{{
		ObjectMeta: metav1.ObjectMeta{Name: "policy"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{
			{Name: "a", ClientConfig: at("strict"), FailurePolicy: &fail},
			{Name: "b", ClientConfig: at("strict")}, // the same Service again
			{Name: "c", ClientConfig: at("lenient"), FailurePolicy: &ignore},
			{Name: "d", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url}},
		},
	}}
	mutating := []admissionregistrationv1.MutatingWebhookConfiguration{{
		ObjectMeta: metav1.ObjectMeta{Name: "defaults"},
		Webhooks:   []admissionregistrationv1.MutatingWebhook{{Name: "e", ClientConfig: at("default")}, {Name: "f", ClientConfig: at("away")}},
	}}
	yes, no := true, false
	on := func(node string, ready *bool) discoveryv1.Endpoint {
		e := discoveryv1.Endpoint{Conditions: discoveryv1.EndpointConditions{Ready: ready}}
		if node != "" {
			e.NodeName = &node
		}
		return e
	}
	slice := func(namespace, service string, endpoints ...discoveryv1.Endpoint) discoveryv1.EndpointSlice {
		return discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			Endpoints:  endpoints,
		}
	}
	got := preflight.Webhooks(validating, mutating, []discoveryv1.EndpointSlice{
		slice("policy", "strict", on("w-2", &yes), on("w-1", nil), on("w-3", &no)),
		slice("policy", "strict", on("w-2", &yes)),
		slice("other", "strict", on("w-9", &yes)),
		slice("policy", "default", on("", &yes)),
	})
	want := []preflight.Webhook{
		{Name: "a", Configuration: "ValidatingWebhookConfiguration/policy", Service: "policy/strict", Nodes: []string{"w-1", "w-2"}},
		{Name: "e", Configuration: "MutatingWebhookConfiguration/defaults", Service: "policy/default", Nodes: []string{""}},
		{Name: "f", Configuration: "MutatingWebhookConfiguration/defaults", Service: "policy/away"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
