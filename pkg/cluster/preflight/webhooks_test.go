package preflight_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// guard is a webhook whose backend is Service guard/guard.
func guard(f *preflight.Facts, policy *admissionregistrationv1.FailurePolicyType) *admissionregistrationv1.ValidatingWebhook {
	f.Workloads.Validating = append(f.Workloads.Validating, admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "guard"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "pods.guard.example", FailurePolicy: policy,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "guard", Name: "guard"}},
		}},
	})
	return &f.Workloads.Validating[len(f.Workloads.Validating)-1].Webhooks[0]
}

// endpoints are backends of Service guard/guard.
func endpoints(f *preflight.Facts, list ...discoveryv1.Endpoint) {
	f.Workloads.EndpointSlices = append(f.Workloads.EndpointSlices, discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "guard", Name: "guard-x", Labels: map[string]string{discoveryv1.LabelServiceName: "guard"}},
		Endpoints:  list,
	})
}

func on(node string, ready *bool) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{NodeName: &node, Conditions: discoveryv1.EndpointConditions{Ready: ready}}
}

func webhookScenes() []scene {
	fail, ignore := ptr.To(admissionregistrationv1.Fail), ptr.To(admissionregistrationv1.Ignore)
	yes, no := ptr.To(true), ptr.To(false)
	served := func(policy *admissionregistrationv1.FailurePolicyType, list ...discoveryv1.Endpoint) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			guard(f, policy)
			endpoints(f, list...)
		}
	}
	held := []string{"Block webhook-last-backend ValidatingWebhookConfiguration/guard @worker-1"}
	return []scene{
		{check: "webhook-last-backend", name: "one backend", alter: served(fail, on("worker-1", yes)), want: held},
		{check: "webhook-last-backend", name: "the policy is not said, nor whether it is ready", alter: served(nil, on("worker-1", nil)), want: held},
		{check: "webhook-last-backend", name: "two on one node", alter: served(fail, on("worker-1", yes), on("worker-1", yes)), want: held},
		{check: "webhook-last-backend", name: "another that is not ready", alter: served(fail, on("worker-1", yes), on("worker-2", no)), want: held},
		{check: "webhook-last-backend", name: "two nodes", alter: served(fail, on("worker-1", yes), on("worker-2", yes))},
		{check: "webhook-last-backend", name: "two nodes in two slices", alter: func(f *preflight.Facts) {
			served(fail, on("worker-1", yes))(f)
			endpoints(f, on("worker-2", yes))
		}},
		{check: "webhook-last-backend", name: "another outside the cluster", alter: served(fail, on("worker-1", yes), discoveryv1.Endpoint{})},
		{check: "webhook-last-backend", name: "Ignore", alter: served(ignore, on("worker-1", yes))},
		{check: "webhook-last-backend", name: "by address", alter: func(f *preflight.Facts) {
			endpoints(f, on("worker-1", yes))
			guard(f, fail).ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://guard.example")}
		}},
		{check: "webhook-last-backend", name: "a mutating one", alter: func(f *preflight.Facts) {
			endpoints(f, on("worker-1", yes))
			f.Workloads.Mutating = []admissionregistrationv1.MutatingWebhookConfiguration{{
				ObjectMeta: metav1.ObjectMeta{Name: "inject"},
				Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "inject.example", ClientConfig: admissionregistrationv1.WebhookClientConfig{
					Service: &admissionregistrationv1.ServiceReference{Namespace: "guard", Name: "guard"},
				}}},
			}}
		}, want: []string{"Block webhook-last-backend MutatingWebhookConfiguration/inject @worker-1"}},
		{check: "webhook-last-backend", name: "on a node that is done", alter: func(f *preflight.Facts) {
			served(fail, on("worker-1", yes))(f)
			runs(f, "v1.35.4")
		}},
		{check: "webhook-last-backend", name: "on a node that is not drained", alter: func(f *preflight.Facts) {
			served(fail, on("worker-1", yes))(f)
			runs(f, "v1.35.3")
			f.Upgrade.Spec.Strategy.Method = v1alpha1.MethodRestart
		}},
		{check: "webhook-last-backend", name: "on a node that asks for no reboot", alter: func(f *preflight.Facts) {
			served(fail, on("worker-1", yes))(f)
			reboots(f, "worker-2")
		}},
		{check: "webhook-last-backend", name: "on a node that asks for a reboot", alter: func(f *preflight.Facts) {
			served(fail, on("worker-1", yes))(f)
			reboots(f, "worker-1")
		}, want: held},
		{check: "webhook-last-backend", name: "on a node that was rebooted and asks again", alter: func(f *preflight.Facts) {
			served(fail, on("worker-1", yes))(f)
			reboots(f, "worker-1")
			rebooted(f, "worker-1", f.Upgrade.Reference())
		}},
		{check: "webhook-last-backend", name: "on a node that was rebooted for an earlier upgrade", alter: func(f *preflight.Facts) {
			served(fail, on("worker-1", yes))(f)
			reboots(f, "worker-1")
			rebooted(f, "worker-1", v1alpha1.UpgradeReference{Name: f.Upgrade.Name, UID: "8"})
		}, want: held},
		{check: "webhook-no-backend", name: "none is ready", alter: served(fail, on("worker-1", no)), want: []string{"Warn webhook-no-backend"}},
		{check: "webhook-no-backend", name: "none at all", alter: func(f *preflight.Facts) { guard(f, fail) }, want: []string{"Warn webhook-no-backend"}},
		{check: "webhook-no-backend", name: "none is ready, and Ignore", alter: served(ignore, on("worker-1", no))},
	}
}

// TestWebhooks checks the webhooks that the planner uses to decide which nodes may not be out of
// service together.
func TestWebhooks(t *testing.T) {
	f := preflight.Facts{}
	guard(&f, nil)
	again := guard(&f, nil)
	again.Name = "again.guard.example" // with the same Service
	guard(&f, ptr.To(admissionregistrationv1.Ignore)).ClientConfig.Service.Name = "lenient"
	guard(&f, nil).ClientConfig.Service.Name = "away"
	guard(&f, nil).ClientConfig.Service.Name = "outside"
	yes, no := ptr.To(true), ptr.To(false)
	endpoints(&f, on("worker-2", yes), on("worker-1", nil), on("worker-3", no))
	endpoints(&f, on("worker-2", yes))
	endpoints(&f, discoveryv1.Endpoint{})
	f.Workloads.EndpointSlices[2].Labels[discoveryv1.LabelServiceName] = "outside"
	endpoints(&f, on("worker-9", yes))
	f.Workloads.EndpointSlices[3].Namespace = "other"
	var got []string
	for _, w := range preflight.Webhooks(f.Workloads.Validating, f.Workloads.Mutating, f.Workloads.EndpointSlices) {
		got = append(got, fmt.Sprintf("%s %q", w, w.Nodes))
	}
	want := []string{
		`again.guard.example (Service guard/guard) ["worker-1" "worker-2"]`,
		`pods.guard.example (Service guard/away) []`,
		`pods.guard.example (Service guard/outside) [""]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
