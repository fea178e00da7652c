package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

func layout(t *testing.T, files map[string]string) host.Layout {
	t.Helper()
	l := host.Layout{Dir: t.TempDir()}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(l.At(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(l.At(path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func TestCheckStaticPods(t *testing.T) {
	pod := func(component string) string {
		return "kind: Pod\nspec: {containers: [{name: " + component + "}]}\n"
	}
	hosted := "0::/kubepods.slice/kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice/cri-containerd-1.scope\n"
	l := layout(t, map[string]string{
		host.ManifestsDir + "/kube-apiserver.yaml": pod("kube-apiserver"), host.ManifestsDir + "/etcd.yaml": pod("etcd"),
		host.ManifestsDir + "/kube-scheduler.yaml": "broken: [\n",
		"/proc/7/cmdline":                          "/usr/local/bin/etcd\x00--name=cp1\x00",
		"/proc/8/cmdline":                          "", // a thread of the kernel
		"/proc/9/cmdline":                          "kube-apiserver\x00", "/proc/9/cgroup": hosted,
	})
	c := newChecker(l, host.Guard{})
	find := func() *facts.Kubelet { return facts.FindKubelet(t.Context(), l) }
	if got, want := c.checkStaticPods(find()), "these static pods do not run: kube-apiserver"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// A component that ran and ended lost its majority, or its API server.
	if err := os.Remove(l.At("/proc/7/cmdline")); err != nil {
		t.Fatal(err)
	}
	if got, want := c.checkStaticPods(find()), "these static pods do not run: kube-apiserver"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// A kubelet that looks elsewhere does not run what the former one did.
	elsewhere := layout(t, map[string]string{
		host.ManifestsDir + "/kube-apiserver.yaml": pod("kube-apiserver"), "/var/lib/kubelet/config.yaml": "staticPodPath: /run/no-static-pods\n",
	})
	for recorded, want := range map[string]string{host.ManifestsDir: "these static pods do not run: kube-apiserver", "": "", "/run/no-static-pods": ""} {
		if got := newChecker(elsewhere, host.Guard{StaticPods: recorded}).checkStaticPods(facts.FindKubelet(t.Context(), elsewhere)); got != want {
			t.Errorf("the former kubelet looked in %q: got %q, want %q", recorded, got, want)
		}
	}
	worker := layout(t, map[string]string{host.ManifestsDir + "/.keep": ""})
	if got := newChecker(worker, host.Guard{}).checkStaticPods(facts.FindKubelet(t.Context(), worker)); got != "" {
		t.Errorf("a worker: got %q, want nothing", got)
	}
}

func TestCheckNetwork(t *testing.T) {
	const header = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
	routed := layout(t, map[string]string{"/proc/net/route": header + "host0\t00000000\t0100580A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"})
	cut := layout(t, map[string]string{
		"/proc/net/route":      header + "host0\t0000580A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n",
		"/proc/net/ipv6_route": strings.Repeat("0", 32) + " 00 " + strings.Repeat("0", 32) + " 00 " + strings.Repeat("0", 32) + " ffffffff 00000001 00000000 00200200       lo\n",
	})
	for name, test := range map[string]struct {
		l      host.Layout
		had    bool
		server string
		want   string
	}{
		"a route to the API server":            {routed, true, "https://127.0.0.1:6443", ""},
		"no default route any more":            {cut, true, "https://127.0.0.1:6443", "the node has no network: its default route is gone"},
		"there was no default route":           {cut, false, "https://127.0.0.1:6443", ""},
		"a name that cannot be resolved":       {routed, true, "https://api.invalid:6443", ""},
		"a server that is no address in a URL": {routed, true, "::", ""},
	} {
		got := checkNetwork(t.Context(), test.l, test.had, test.server)
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestFirstHop checks that a route to the proxy of the kubelet's kubeconfig counts, where there is one.
func TestFirstHop(t *testing.T) {
	conf := func(more string) string {
		return "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://10.0.0.1:6443'" + more + "}}]\n" +
			"users: [{name: u}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"
	}
	for more, want := range map[string]string{"": "https://10.0.0.1:6443", ", proxy-url: 'http://10.9.9.9:3128'": "http://10.9.9.9:3128"} {
		l := layout(t, map[string]string{host.KubeletAccess: conf(more)})
		config, err := clientcmd.BuildConfigFromFlags("", l.At(host.KubeletAccess))
		if err != nil {
			t.Fatal(err)
		}
		if got := firstHop(config); got != want {
			t.Errorf("%s: %s, want %s", more, got, want)
		}
	}
}

func TestNotReady(t *testing.T) {
	node := func(boot, kubelet string, ready corev1.ConditionStatus) *corev1.Node {
		n := &corev1.Node{}
		n.Status.NodeInfo.BootID, n.Status.NodeInfo.KubeletVersion = boot, kubelet
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Message: "no CNI"}}
		return n
	}
	for name, test := range map[string]struct {
		node *corev1.Node
		want string
	}{
		"Ready":               {node("boot-2", to, corev1.ConditionTrue), ""},
		"not Ready":           {node("boot-2", to, corev1.ConditionFalse), "the API server answers that the node is not Ready: no CNI"},
		"of the former boot":  {node("boot-1", from, corev1.ConditionTrue), "the API server answers that the kubelet of this boot has not reported"},
		"the former kubelet":  {node("boot-2", from, corev1.ConditionTrue), "the API server answers that kubelet v1.34.4 reported last, and not v1.35.4"},
		"no condition at all": {&corev1.Node{Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{BootID: "boot-2", KubeletVersion: to}}}, "the API server answers that the node is not Ready"},
	} {
		if got := notReady(test.node, "boot-2", to); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
