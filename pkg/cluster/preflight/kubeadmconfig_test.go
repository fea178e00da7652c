package preflight_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// kubeadmScenes are of what kubeadm keeps in the cluster.
func kubeadmScenes() []scene {
	kubeadmConfig := func(problem string, missing bool) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			f.KubeadmConfig = &preflight.KubeadmConfig{Problem: problem, Missing: missing}
			f.KubeProxyRemoved = true // it is not known whether on purpose
		}
	}
	noKubeletConfig := func(f *preflight.Facts) {
		f.KubeletConfig = &preflight.KubeletConfig{Problem: "it does not exist", Missing: true}
	}
	removed := func(then func(*preflight.Facts)) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			f.KubeProxyRemoved, f.CoreDNSRemoved = true, true
			then(f)
		}
	}
	apiVersion := func(text string) func(*preflight.Facts) {
		return func(f *preflight.Facts) { f.KubeadmConfig.APIVersion = text }
	}
	upgraded := func(f *preflight.Facts) {
		for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
			upgrade(f, name).Status.Versions.Kubeadm = "v1.35.4"
		}
	}
	nothing := func(*preflight.Facts) {}
	const proxy, dns = "Block addon-removed DaemonSet/kube-system/kube-proxy", "Block addon-removed Deployment/kube-system/coredns"
	configMap := func(name string) []string { return []string{"Block configmap-missing ConfigMap/kube-system/" + name} }
	return []scene{
		{check: "configmap-missing", name: "of kubeadm", alter: kubeadmConfig("it does not exist", true), want: configMap("kubeadm-config")},
		{check: "configmap-missing", name: "without kubeadm's key", alter: kubeadmConfig("it has no key ClusterConfiguration", true), want: configMap("kubeadm-config")},
		{check: "configmap-missing", name: "for a patch", alter: to("v1.35.3", "v1.35.4", kubeadmConfig("it does not exist", true)), want: configMap("kubeadm-config")},
		{check: "configmap-missing", name: "of kubelets", alter: noKubeletConfig, want: configMap("kubelet-config")},
		{check: "configmap-missing", name: "of kubelets, when only workers are left", alter: func(f *preflight.Facts) {
			noKubeletConfig(f)
			upgraded(f)
		}, want: configMap("kubelet-config")},
		{check: "configmap-missing", name: "only a reboot", alter: func(f *preflight.Facts) {
			noKubeletConfig(f)
			kubeadmConfig("it does not exist", true)(f)
			reboots(f, "worker-1")
		}},
		{check: "configmap-missing", name: "kubeadm is done on every node", alter: func(f *preflight.Facts) {
			noKubeletConfig(f)
			runs(f, "v1.35.4")
			upgraded(f)
		}},
		{check: "unread", name: "how kubeadm made the cluster", alter: kubeadmConfig("that is forbidden", false), want: []string{"Warn unread ConfigMap/kube-system/kubeadm-config"}},

		{check: "addon-removed", name: "both", alter: removed(nothing), want: []string{proxy, dns}},
		{check: "addon-removed", name: "for a patch", alter: to("v1.35.3", "v1.35.4", removed(nothing)), want: []string{proxy, dns}},
		{check: "addon-removed", name: "for 1.32", alter: to("v1.31.9", "v1.32.9", removed(nothing)), want: []string{proxy, dns}},
		{check: "addon-removed", name: "kubeadm 1.31 looks whether it is there", alter: to("v1.30.9", "v1.31.9", removed(nothing))},
		{check: "addon-removed", name: "in a ClusterConfiguration that cannot disable it", alter: removed(apiVersion("kubeadm.k8s.io/v1beta3")), want: []string{proxy, dns}},
		{check: "addon-removed", name: "kube-proxy is disabled", alter: removed(func(f *preflight.Facts) { f.KubeadmConfig.Proxy.Disabled = true }), want: []string{dns}},
		{check: "addon-removed", name: "CoreDNS is disabled", alter: removed(func(f *preflight.Facts) { f.KubeadmConfig.DNS.Disabled = true }), want: []string{proxy}},
		{check: "addon-removed", name: "only workers are left", alter: removed(upgraded)},
		{check: "addon-removed", name: "one control plane is left", alter: removed(func(f *preflight.Facts) {
			upgraded(f)
			upgrade(f, "cp-2").Status.Versions.Kubeadm = "v1.34.4"
		}), want: []string{proxy, dns}},
		{check: "addon-removed", name: "only a reboot", alter: removed(func(f *preflight.Facts) { reboots(f, "cp-1") })},
		{check: "addon-removed", name: "kubelets go back", alter: removed(func(f *preflight.Facts) {
			f.Upgrade.Spec.Type, f.Upgrade.Spec.Version = v1alpha1.TypeRollback, "v1.34.3"
		})},
	}
}

func TestParseClusterConfiguration(t *testing.T) {
	const disabled = "proxy: {disabled: true}\ndns: {disabled: true}\n"
	tests := map[string]struct {
		text       string
		proxy, dns bool
		problem    string
	}{
		"as kubeadm writes it": {"apiVersion: kubeadm.k8s.io/v1beta4\ndns: {}\nproxy: {}\n", false, false, ""},
		"disabled":             {"apiVersion: kubeadm.k8s.io/v1beta4\n" + disabled, true, true, ""},
		"one of them":          {"apiVersion: kubeadm.k8s.io/v1\nproxy:\n  disabled: true\ndns:\n  imageTag: v1.12.1\n", true, false, ""},
		"v1beta3 overlooks it": {"apiVersion: kubeadm.k8s.io/v1beta3\n" + disabled, false, false, ""},
		"no YAML":              {"a: [\n", false, false, "decoding it"},
		"not a truth":          {"proxy: {disabled: maybe}\n", false, false, "decoding it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := preflight.ParseClusterConfiguration([]byte(test.text))
			if diff := cmp.Diff([]bool{test.proxy, test.dns}, []bool{got.Proxy.Disabled, got.DNS.Disabled}); diff != "" {
				t.Errorf("proxy and dns are disabled (-want +got):\n%s", diff)
			}
			if (err != nil) != (test.problem != "") || err != nil && !strings.Contains(err.Error(), test.problem) {
				t.Errorf("error %v, want %q", err, test.problem)
			}
		})
	}
}
