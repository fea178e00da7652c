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
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// lone is an admission webhook with one backend, on w1. It is for objects that do not exist
// here, so that ignoring the finding does no harm.
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

// whyIgnored is the reason for which the check is ignored.
const whyIgnored = "nothing asks for objects of example.com"

// findingRefuses checks that the webhook's finding refuses an apply that does not ignore it.
// oneApply ignores it.
func (c *testCluster) findingRefuses(t *testing.T) {
	c.apply(t, lone)
	c.eventually(t, time.Minute, "the webhook has a ready backend", func() error {
		_, err := c.Kube(c.ctx, "-n", "default", "wait", "--for=jsonpath={.endpoints[0].conditions.ready}=true",
			"endpointslice", "-l", discoveryv1.LabelServiceName+"=lone", "--timeout", "10s")
		return err
	})
	c.checkRefused(t, []string{"v1.35", "--yes"}, preflight.LastBackend, "lone", "w1")
}

// checkIgnoredRecorded checks that the upgrade records the ignored finding and the reason.
func (c *testCluster) checkIgnoredRecorded(t *testing.T) {
	upgrade, err := c.ours.ClusterUpgrades.Get(c.ctx, minorTo, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(upgrade.Status.Findings, func(f v1alpha1.Finding) bool { return f.ID == preflight.LastBackend && f.Ignored }) {
		t.Errorf("no finding %s is recorded as ignored: %+v", preflight.LastBackend, upgrade.Status.Findings)
	}
	want := []v1alpha1.IgnoredCheck{{ID: preflight.LastBackend, Comment: whyIgnored, By: "kubernetes-admin"}}
	if diff := cmp.Diff(want, upgrade.Spec.IgnoreChecks); diff != "" {
		t.Errorf("spec.ignoreChecks (-want +got):\n%s", diff)
	}
}
