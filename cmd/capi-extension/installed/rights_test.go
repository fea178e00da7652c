package installed_test

import (
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func merged(t *testing.T, o *unstructured.Unstructured, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if data, err = jsonpatch.MergePatch(data, []byte(text)); err != nil {
		t.Fatal(err)
	}
	into := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &into.Object); err != nil {
		t.Fatal(err)
	}
	return into
}

// mark is a merge patch that gives a Machine the mark for health checks.
func mark(value string) string {
	if value != "null" {
		value = `"` + value + `"`
	}
	return `{"metadata":{"annotations":{"cluster.x-k8s.io/skip-remediation":` + value + `}}}`
}

// TestExtensionWrites tries what the extension may write in the management cluster.
func TestExtensionWrites(t *testing.T) {
	config := install(t)
	admin, extension, _ := clients(t, config)
	plain, ours, theirs := machine("plain"), merged(t, machine("ours"), mark("kubectl-upgrade.dev/upgrade-in-place")), merged(t, machine("theirs"), mark("true"))
	kcp, md := controlPlane(in, "writes"), deployment(in, "writes")
	for _, o := range []*unstructured.Unstructured{plain, ours, theirs, kcp, md} {
		create(t, admin, o)
	}
	for _, test := range []struct {
		name   string
		object *unstructured.Unstructured
		patch  string
		want   bool
	}{
		{"set its mark", plain, mark("kubectl-upgrade.dev/upgrade-in-place"), true},
		{"remove its mark", ours, mark("null"), true},
		{"set another mark", plain, mark("true"), false},
		{"remove someone's mark", theirs, mark("null"), false},
		{"replace someone's mark", theirs, mark("kubectl-upgrade.dev/upgrade-in-place"), false},
		{"have a Machine deleted", plain, `{"metadata":{"annotations":{"cluster.x-k8s.io/delete-machine":""}}}`, false},
		{"change a Machine's version", plain, `{"spec":{"version":"v1.34.4"}}`, false},
		{"label a Machine", plain, `{"metadata":{"labels":{"x":"y"}}}`, false},
		{"remove a Machine's finalizers", plain, `{"metadata":{"finalizers":["x/y"]}}`, false},
		{"touch a KubeadmControlPlane", kcp, `{"metadata":{"annotations":{"kubectl-upgrade.dev/asked-again":"now"}}}`, true},
		{"touch a MachineDeployment", md, `{"metadata":{"annotations":{"kubectl-upgrade.dev/asked-again":"now"}}}`, true},
		{"allow machines of a KubeadmControlPlane to be replaced", kcp, `{"metadata":{"annotations":{"kubectl-upgrade.dev/on-uncovered":"Replace"}}}`, false},
		{"change a KubeadmControlPlane", kcp, `{"spec":{"version":"v1.34.4"}}`, false},
		{"scale a MachineDeployment", md, `{"spec":{"replicas":1}}`, false},
	} {
		if err := patch(t, extension, test.object, test.patch); (err == nil) != test.want {
			t.Errorf("%s: got %v, want allowed: %t", test.name, err, test.want)
		}
	}
	secret := kubeconfig(t, config, in, "rights")
	create(t, admin, secret)
	elsewhere := kubeconfig(t, config, out, "rights")
	create(t, admin, elsewhere)
	for _, test := range []struct {
		name string
		err  error
		want bool
	}{
		{"read a kubeconfig where it is bound", extension.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{}), true},
		{"read a kubeconfig elsewhere", extension.Get(t.Context(), client.ObjectKeyFromObject(elsewhere), &corev1.Secret{}), false},
		{"list Secrets", extension.List(t.Context(), &corev1.SecretList{}, client.InNamespace(in)), false},
		{"delete a Machine", extension.Delete(t.Context(), plain.DeepCopy(), client.DryRunAll), false},
	} {
		if (test.err == nil) != test.want || test.err != nil && !apierrors.IsForbidden(test.err) {
			t.Errorf("%s: got %v, want allowed: %t", test.name, test.err, test.want)
		}
	}
}

// TestWorkloadRights tries what the extension may write in a workload cluster.
func TestWorkloadRights(t *testing.T) {
	config := install(t)
	admin, _, asked := clients(t, config)
	upgrade := func(name, spec string, labels map[string]string) *unstructured.Unstructured {
		u := object("kubectl-upgrade.dev/v1alpha1", "ClusterUpgrade", "", name, parse(spec))
		u.SetLabels(labels)
		return u
	}
	made := map[string]string{"kubectl-upgrade.dev/made-by": "capi-extension"}
	ours, theirs := upgrade("ours", "version: v1.34.4", made), upgrade("theirs", "version: v1.34.4", nil)
	create(t, admin, ours)
	create(t, admin, theirs)
	order := object("kubectl-upgrade.dev/v1alpha1", "NodeUpgrade", "", "order", map[string]any{"managed": true})
	create(t, admin, order)
	for _, test := range []struct {
		name string
		try  func() error
		want bool
	}{
		{"ask for a version", func() error {
			return asked.Create(t.Context(), upgrade("new", "{version: v1.34.4, reason: Cluster API}", made), client.DryRunAll)
		}, true},
		{"without the label", func() error {
			return asked.Create(t.Context(), upgrade("new", "version: v1.34.4", nil), client.DryRunAll)
		}, false},
		{"ask for reboots", func() error { return asked.Create(t.Context(), upgrade("new", "type: Reboot", made), client.DryRunAll) }, false},
		{"ask for new certificates", func() error {
			return asked.Create(t.Context(), upgrade("new", "type: Certificates", made), client.DryRunAll)
		}, false},
		{"take a version back", func() error {
			return asked.Create(t.Context(), upgrade("new", "{type: Rollback, version: v1.34.4, comment: r}", made), client.DryRunAll)
		}, false},
		{"ignore windows", func() error {
			return asked.Create(t.Context(), upgrade("new", "{version: v1.34.4, windowPolicy: Ignore}", made), client.DryRunAll)
		}, false},
		{"choose a strategy", func() error {
			return asked.Create(t.Context(), upgrade("new", "{version: v1.34.4, strategy: {maxUnavailable: 5}}", made), client.DryRunAll)
		}, false},
		{"ask for a node", func() error {
			return patch(t, asked, order, `{"metadata":{"annotations":{"kubectl-upgrade.dev/requested-for":"u"}}}`)
		}, true},
		{"annotate a node's order", func() error { return patch(t, asked, order, `{"metadata":{"annotations":{"x":"y"}}}`) }, false},
		{"abandon a node", func() error { return patch(t, asked, order, `{"abandoned":{"comment":"c"}}`) }, false},
		{"release a node", func() error { return patch(t, asked, order, `{"spec":{"slot":"slot-1"}}`) }, false},
		{"delete a node's order", func() error { return asked.Delete(t.Context(), order.DeepCopy(), client.DryRunAll) }, false},
		{"ignore windows later", func() error { return patch(t, asked, ours, `{"spec":{"windowPolicy":"Ignore"}}`) }, false},
		{"resume", func() error { return patch(t, asked, ours, `{"spec":{"suspend":true}}`) }, false},
		{"annotate", func() error { return patch(t, asked, ours, `{"metadata":{"annotations":{"x":"y"}}}`) }, false},
		{"delete its own", func() error { return asked.Delete(t.Context(), ours.DeepCopy(), client.DryRunAll) }, true},
		{"delete a person's", func() error { return asked.Delete(t.Context(), theirs.DeepCopy(), client.DryRunAll) }, false},
		{"change the policy", func() error {
			return patch(t, asked, object("kubectl-upgrade.dev/v1alpha1", "UpgradePolicy", "", "cluster", nil), `{"spec":{"mode":"Observe"}}`)
		}, false},
		{"read Secrets", func() error { return asked.List(t.Context(), &corev1.SecretList{}, client.InNamespace("kube-system")) }, false},
		{"cordon a node", func() error {
			return patch(t, asked, object("v1", "Node", "", "w1", nil), `{"spec":{"unschedulable":true}}`)
		}, false},
	} {
		if err := test.try(); (err == nil) != test.want || err != nil && !strings.Contains(err.Error(), "forbidden") {
			t.Errorf("%s: got %v, want allowed: %t", test.name, err, test.want)
		}
	}
}
