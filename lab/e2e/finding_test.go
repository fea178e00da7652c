//go:build e2e

package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
)

// lone is an admission webhook with one backend, on w1. It is asked about
// objects that do not exist here, so that ignoring the finding does no harm.
var lone = onePod("lone") + `
apiVersion: v1
kind: Service
metadata: {name: lone, namespace: default}
spec: {selector: {app: lone}, ports: [{port: 443}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: lone}
webhooks:
  - name: lone.example.com
    failurePolicy: Fail
    sideEffects: None
    admissionReviewVersions: [v1]
    clientConfig: {service: {namespace: default, name: lone}}
    rules: [{apiGroups: [example.com], apiVersions: ["*"], operations: [CREATE], resources: ["*"]}]
`

// whyIgnored is what the person of this story writes beside the ignored check.
const whyIgnored = "nothing asks for objects of example.com"

// findingRefuses wants the webhook's finding to be in the way of an apply that
// does not name it. oneApply names it.
func (w *world) findingRefuses(t *testing.T) {
	w.apply(t, lone)
	w.eventually(t, time.Minute, "the webhook has a ready backend", func() error {
		_, err := w.Kube(w.ctx, "-n", "default", "wait", "--for=jsonpath={.endpoints[0].conditions.ready}=true",
			"endpointslice", "-l", discoveryv1.LabelServiceName+"=lone", "--timeout", "10s")
		return err
	})
	w.refused(t, []string{"v1.35", "--yes"}, preflight.LastBackend, "lone", "w1")
}

// ignoredRecorded wants the upgrade to say what it went on in spite of, and why.
func (w *world) ignoredRecorded(t *testing.T) {
	upgrade, err := w.ours.ClusterUpgrades.Get(w.ctx, minorTo, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(upgrade.Status.Findings, func(f v1alpha1.Finding) bool { return f.ID == preflight.LastBackend && f.Ignored }) {
		t.Errorf("no finding %s that was ignored: %+v", preflight.LastBackend, upgrade.Status.Findings)
	}
	want := []v1alpha1.IgnoredCheck{{ID: preflight.LastBackend, Reason: whyIgnored}}
	if diff := cmp.Diff(want, upgrade.Spec.IgnoreChecks); diff != "" {
		t.Errorf("spec.ignoreChecks (-want +got):\n%s", diff)
	}
}
