package hooks

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
)

// askBefore asks a hook of a cluster with a ClusterClass. via is the first of several minors on the way.
func (w *world) askBefore(hook, via, to string) runtimehooksv1.CommonRetryResponse {
	w.t.Helper()
	request := map[string]any{"cluster": map[string]any{"metadata": map[string]any{"namespace": "default", "name": "prod"}}, "toKubernetesVersion": to}
	if via != "" {
		request["controlPlaneUpgrades"] = []map[string]any{{"version": via}, {"version": to}}
	}
	data, err := json.Marshal(request)
	if err != nil {
		w.t.Fatal(err)
	}
	return post[runtimehooksv1.CommonRetryResponse](w, hook, data)
}

// TestVersionsOfStrangers has anybody ask about versions. An upgrade is made to none but those that an owner has,
// or gets next on its way to the Cluster's.
func TestVersionsOfStrangers(t *testing.T) {
	const (
		cluster = "beforeclusterupgrade/before-cluster-upgrade"
		plane   = "beforecontrolplaneupgrade/before-control-plane-upgrade"
		others  = "beforeworkersupgrade/before-workers-upgrade"
	)
	const refused = "no KubeadmControlPlane or MachineDeployment of Cluster default/prod has"
	for _, test := range []struct {
		wanted, planes, workers string // versions of the Cluster and of the owners; the machines have v1.34.3
		hook, via, to           string
		made, message           string
	}{
		{"v1.34.4", "v1.34.3", "v1.34.3", cluster, "", "v1.34.4", "capi-v1.34.4", ""},
		{"v1.34.4", "v1.34.4", "v1.34.3", plane, "", "v1.34.4", "capi-v1.34.4", ""},
		{"v1.34.4", "v1.34.4", "v1.34.3", others, "", "v1.34.4", "capi-v1.34.4", ""},
		{"v1.36.0", "v1.34.3", "v1.34.3", cluster, "v1.35.2", "v1.36.0", "capi-v1.35.2", ""},
		{"v1.36.0", "v1.35.2", "v1.34.3", others, "", "v1.35.2", "capi-v1.35.2", ""},

		{"v1.34.4", "v1.34.3", "v1.34.3", cluster, "", "v1.34.5", "", "Cluster default/prod was changed meanwhile"},
		{"v1.34.4", "v1.34.3", "v1.34.3", cluster, "", "v1.34.2", "", refused},
		{"v1.34.4", "v1.34.3", "v1.34.3", cluster, "", "v1.30.0", "", refused},
		{"v1.34.4", "v1.34.3", "v1.34.3", others, "", "v1.33.9", "", refused},
		{"v1.34.9", "v1.34.3", "v1.34.3", plane, "", "v1.34.4", "", refused},
		{"v1.36.0", "v1.34.3", "v1.34.3", plane, "", "v1.34.4", "", refused},
		{"v1.36.0", "v1.34.3", "v1.34.3", cluster, "v1.36.0", "v1.36.0", "", refused},
		{"v1.36.0", "v1.34.3", "v1.34.3", cluster, "v1.34.9", "v1.36.0", "", refused},
		{"v1.36.0", "v1.35.2", "v1.34.3", plane, "", "v1.35.3", "", refused},
		// An owner has it, and no machine needs it.
		{"v1.34.4", "v1.34.4", "v1.34.3", others, "", "v1.34.3", "", ""},
		{"v1.34.4", "v1.34.4", "v1.34.3", plane, "", "v1.34.3", "", ""},
		{"v1.34.4", "v1.34.4", "v1.34.2", others, "", "v1.34.2", "", ""},
	} {
		w := newWorld(t)
		change(w, w.management, "prod", func(c *clusterv1.Cluster) { c.Spec.Topology.Version = test.wanted })
		change(w, w.management, controlPlane, func(c *controlplanev1.KubeadmControlPlane) { c.Spec.Version = test.planes })
		change(w, w.management, workers, func(d *clusterv1.MachineDeployment) { d.Spec.Template.Spec.Version = test.workers })
		got := w.askBefore(test.hook, test.via, test.to)
		if made := strings.Join(slices.Sorted(maps.Keys(w.upgrades())), " "); made != test.made {
			t.Errorf("%+v: made %q", test, made)
		}
		if test.made == "" && (!strings.HasPrefix(got.Message, test.message) || (got.Message == "") != (test.message == "")) {
			t.Errorf("%+v: got %q", test, got.Message)
		}
	}
}
