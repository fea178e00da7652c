package snapshot_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/kubetest"
)

// What kubeadm keeps in the cluster is there, not there, or there without what kubeadm reads.
func TestReadPreflightKnowsKubeadmObjects(t *testing.T) {
	w := newWorld(t)
	read := func() (facts preflight.Facts) {
		t.Helper()
		facts, err := snapshot.ReadPreflight(t.Context(), w.clients(w.config), upgrade(), nil)
		w.must(nil, err)
		return facts
	}
	check := func(facts preflight.Facts, problem string, removed bool) {
		t.Helper()
		kubeadm, kubelets, missing := facts.KubeadmConfig, facts.KubeletConfig, problem != ""
		if kubeadm.Problem != strings.ReplaceAll(problem, "KEY", "ClusterConfiguration") || kubeadm.Missing != missing {
			t.Errorf("kubeadm-config: %+v, want %q", kubeadm, problem)
		}
		if kubelets.Problem != strings.ReplaceAll(problem, "KEY", "kubelet") || kubelets.Missing != missing {
			t.Errorf("kubelet-config: %+v, want %q", kubelets, problem)
		}
		if facts.KubeProxyRemoved != removed || facts.CoreDNSRemoved != removed {
			t.Errorf("removed are kube-proxy: %t, CoreDNS: %t; want %t", facts.KubeProxyRemoved, facts.CoreDNSRemoved, removed)
		}
	}
	facts := read()
	check(facts, "it does not exist", true)
	if dns := facts.CoreDNS; dns == nil || !dns.ConfigMissing || dns.Corefile != nil || dns.Images != nil {
		t.Errorf("CoreDNS, where it is not there: %+v", dns)
	}

	const system, other = "kube-system", "default"
	configs, now := w.kube.CoreV1().ConfigMaps(system), metav1.DeleteOptions{}
	w.must(nil, kubetest.MakeKubeadmObjects(t.Context(), w.kube))
	t.Cleanup(func() {
		for _, name := range []string{"kubeadm-config", "kubelet-config", "coredns"} {
			w.must(nil, configs.Delete(context.Background(), name, now))
		}
	})
	facts = read()
	check(facts, "", false)
	if dns := facts.CoreDNS; dns == nil || dns.ConfigMissing || dns.Corefile == nil || !strings.HasPrefix(*dns.Corefile, ".:53 {") || len(dns.Images) != 1 || !strings.HasSuffix(dns.Images[0], "coredns:v1.11.3") {
		t.Errorf("CoreDNS: %+v", dns)
	}
	if facts.KubeadmConfig.APIVersion != "kubeadm.k8s.io/v1beta4" {
		t.Errorf("kubeadm-config has %+v", facts.KubeadmConfig.ClusterConfiguration)
	}

	for _, name := range []string{"kubeadm-config", "kubelet-config", "coredns"} {
		config, err := configs.Get(t.Context(), name, metav1.GetOptions{})
		w.must(config, err)
		config.Data = map[string]string{"other": "x"}
		w.must(configs.Update(t.Context(), config, metav1.UpdateOptions{}))
	}
	// The addons' names are those of other objects, too.
	proxy, err := w.kube.AppsV1().DaemonSets(system).Get(t.Context(), "kube-proxy", metav1.GetOptions{})
	w.must(proxy, err)
	dns, err := w.kube.AppsV1().Deployments(system).Get(t.Context(), "coredns", metav1.GetOptions{})
	w.must(dns, err)
	w.must(nil, w.kube.AppsV1().DaemonSets(system).Delete(t.Context(), proxy.Name, now))
	w.must(nil, w.kube.AppsV1().Deployments(system).Delete(t.Context(), dns.Name, now))
	proxy.ObjectMeta, dns.ObjectMeta = metav1.ObjectMeta{Name: proxy.Name}, metav1.ObjectMeta{Name: dns.Name}
	w.must(w.kube.AppsV1().DaemonSets(other).Create(t.Context(), proxy, metav1.CreateOptions{}))
	w.must(w.kube.AppsV1().Deployments(other).Create(t.Context(), dns, metav1.CreateOptions{}))
	t.Cleanup(func() {
		w.must(nil, w.kube.AppsV1().DaemonSets(other).Delete(context.Background(), proxy.Name, now))
		w.must(nil, w.kube.AppsV1().Deployments(other).Delete(context.Background(), dns.Name, now))
	})
	facts = read()
	check(facts, "it has no key KEY", true)
	if dns := facts.CoreDNS; dns == nil || dns.ConfigMissing || dns.Corefile != nil || dns.Images != nil {
		t.Errorf("CoreDNS of another namespace, and no Corefile: %+v", dns)
	}
}
