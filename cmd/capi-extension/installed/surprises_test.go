package installed_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestSurprises changes the version of objects whose machines Cluster API would replace without asking.
func TestSurprises(t *testing.T) {
	config := install(t)
	admin, _, _ := clients(t, config)
	const (
		kcpVersion = `{"spec":{"version":"v1.34.4"}}`
		mdVersion  = `{"spec":{"template":{"spec":{"version":"v1.34.4"}}}}`
	)
	for _, test := range []struct {
		name    string
		object  func(namespace, name string) *unstructured.Unstructured
		setup   string // a merge patch of the object before
		change  string
		refused string // a part of the message; empty: it is accepted
	}{
		{"cp-ready", controlPlane, "", kcpVersion, ""},
		{"cp-surge", controlPlane, `{"spec":{"rollout":{"strategy":{"rollingUpdate":{"maxSurge":1}}}}}`, kcpVersion, "maxSurge 1, the default"},
		{"cp-default", controlPlane, `{"spec":{"rollout":null}}`, kcpVersion, "maxSurge 1, the default"},
		{"cp-one", controlPlane, `{"spec":{"replicas":1}}`, kcpVersion, "with fewer than three replicas"},
		{"cp-before", controlPlane, `{"spec":{"rollout":{"before":{"certificatesExpiryDays":30}}}}`, kcpVersion, "spec.rollout.before"},
		{"cp-after", controlPlane, `{"spec":{"rollout":{"after":"2026-01-01T00:00:00Z"}}}`, kcpVersion, "spec.rollout.after"},
		{"cp-both-at-once", controlPlane, "", `{"spec":{"version":"v1.34.4","replicas":1}}`, "with fewer than three replicas"},
		{"cp-wanted", controlPlane, `{"metadata":{"annotations":{"kubectl-upgrade.dev/on-uncovered":"Replace"}},"spec":{"replicas":1}}`, kcpVersion, ""},
		{"cp-stop", controlPlane, `{"metadata":{"annotations":{"kubectl-upgrade.dev/on-uncovered":"Stop"}},"spec":{"replicas":1}}`, kcpVersion, "with fewer than three replicas"},
		{"cp-template", controlPlane, "", `{"spec":{"machineTemplate":{"spec":{"infrastructureRef":{"name":"another"}}}}}`, "another spec.machineTemplate.spec.infrastructureRef"},
		{"cp-template-wanted", controlPlane, `{"metadata":{"annotations":{"kubectl-upgrade.dev/on-uncovered":"Replace"}}}`, `{"spec":{"machineTemplate":{"spec":{"infrastructureRef":{"name":"another"}}}}}`, ""},
		{"cp-other-change", controlPlane, `{"spec":{"replicas":1}}`, `{"spec":{"replicas":3}}`, ""},

		{"md-ready", deployment, "", mdVersion, ""},
		{"md-percent", deployment, `{"spec":{"rollout":{"strategy":{"rollingUpdate":{"maxSurge":"0%","maxUnavailable":"10%"}}}}}`, mdVersion, ""},
		{"md-default", deployment, `{"spec":{"rollout":{"strategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0}}}}}`, mdVersion, "maxSurge is 0 and maxUnavailable is 1"},
		{"md-surge", deployment, `{"spec":{"rollout":{"strategy":{"rollingUpdate":{"maxSurge":"20%"}}}}}`, mdVersion, "maxSurge is 0 and maxUnavailable is 1"},
		{"md-none", deployment, `{"spec":{"rollout":null}}`, mdVersion, "maxSurge is 0 and maxUnavailable is 1"},
		{"md-on-delete", deployment, `{"spec":{"rollout":{"strategy":{"type":"OnDelete","rollingUpdate":null}}}}`, mdVersion, "OnDelete"},
		{"md-after", deployment, `{"spec":{"rollout":{"after":"2026-01-01T00:00:00Z"}}}`, mdVersion, "spec.rollout.after"},
		{"md-wanted", deployment, `{"metadata":{"annotations":{"kubectl-upgrade.dev/on-uncovered":"Replace"}},"spec":{"rollout":null}}`, mdVersion, ""},
		{"md-scale", deployment, `{"spec":{"rollout":null}}`, `{"spec":{"replicas":5}}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, namespace := range []string{in, out} {
				o := test.object(namespace, test.name)
				if test.setup != "" {
					o = merged(t, o, test.setup)
				}
				create(t, admin, o)
				err := patch(t, admin, o, test.change)
				want := test.refused
				if namespace == out {
					want = ""
				}
				switch {
				case want == "" && err != nil:
					t.Errorf("namespace %s: got %v, want yes", namespace, err)
				case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "kubectl-upgrade.dev/on-uncovered=Replace")):
					t.Errorf("namespace %s: got %v, want a refusal with %q", namespace, err, want)
				}
			}
		})
	}
}

// TestOlderVersion changes the version through Cluster API's older API, as clients still do.
func TestOlderVersion(t *testing.T) {
	config := install(t)
	admin, _, _ := clients(t, config)
	o := merged(t, controlPlane(in, "older"), `{"spec":{"replicas":1}}`)
	create(t, admin, o)
	older := o.DeepCopy()
	older.SetAPIVersion("controlplane.cluster.x-k8s.io/v1beta1")
	if err := patch(t, admin, older, `{"spec":{"version":"v1.34.4"}}`); err == nil || !strings.Contains(err.Error(), "with fewer than three replicas") {
		t.Errorf("got %v, want a refusal", err)
	}
}
