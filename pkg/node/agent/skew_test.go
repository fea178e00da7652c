package agent

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// TestEndedPodIsNoAPIServer checks that a pod with kubeadm's label that has ended does not
// count as an apiserver.
func TestEndedPodIsNoAPIServer(t *testing.T) {
	pod := func(image string, phase corev1.PodPhase) corev1.Pod {
		return corev1.Pod{Spec: corev1.PodSpec{NodeName: "cp1", Containers: []corev1.Container{{Image: image}}}, Status: corev1.PodStatus{Phase: phase}}
	}
	got, err := versionsOf([]corev1.Pod{pod("backup:latest", corev1.PodSucceeded), pod("registry.k8s.io/kube-apiserver:v1.34.4", corev1.PodRunning)})
	if err != nil || len(got) != 1 || got["cp1"] != (version.Version{Major: 1, Minor: 34, Patch: 4}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := versionsOf([]corev1.Pod{pod("backup:latest", corev1.PodFailed)}); err == nil {
		t.Errorf("without an apiserver: %v", got)
	}
}

// TestSkew checks promise 3 as an agent does: beside which apiservers its node may go to v1.35.2. By Cluster
// API's request, a control plane's own apiserver goes first, in the same turn.
func TestSkew(t *testing.T) {
	for name, test := range map[string]struct {
		cp1, cp2       string // the apiservers
		node           string
		release        v1alpha1.Release
		request, local bool
		kubeadm        string // what kubeadm completed on the node
		refuses        string
	}{
		"by request, the host is not known":   {"v1.35.2", "v1.34.3", "", v1alpha1.ReleaseNode, true, true, "", "newer than an apiserver v1.34.3"},
		"pass 1":                              {"v1.34.3", "v1.34.3", "cp1", v1alpha1.ReleaseControlPlane, false, true, "", ""},
		"pass 1, too far apart":               {"v1.34.3", "v1.33.9", "cp1", v1alpha1.ReleaseControlPlane, false, true, "", "v1.33.9"},
		"pass 2":                              {"v1.35.2", "v1.35.2", "cp1", v1alpha1.ReleaseNode, false, true, "v1.35.2", ""},
		"pass 2, another one is older":        {"v1.35.2", "v1.34.3", "cp1", v1alpha1.ReleaseNode, false, true, "v1.35.2", "newer than an apiserver v1.34.3"},
		"by request, before kubeadm":          {"v1.34.3", "v1.34.3", "cp1", v1alpha1.ReleaseNode, true, true, "", ""},
		"by request, after kubeadm":           {"v1.35.2", "v1.34.3", "cp1", v1alpha1.ReleaseNode, true, true, "v1.35.2", ""},
		"by request, its own is still older":  {"v1.34.3", "v1.34.3", "cp1", v1alpha1.ReleaseNode, true, true, "v1.35.2", "newer than an apiserver v1.34.3"},
		"by request, through a load balancer": {"v1.34.3", "v1.34.3", "cp1", v1alpha1.ReleaseNode, true, false, "", "newer than an apiserver v1.34.3"},
		"by request, the last one":            {"v1.34.3", "v1.35.2", "cp1", v1alpha1.ReleaseNode, true, false, "", ""},
		"by request, too far apart":           {"v1.34.3", "v1.33.9", "cp1", v1alpha1.ReleaseNode, true, true, "", "v1.33.9"},
		"a worker by request":                 {"v1.35.2", "v1.35.2", "w1", v1alpha1.ReleaseNode, true, false, "", ""},
		"a worker by request, an older one":   {"v1.35.2", "v1.34.3", "w1", v1alpha1.ReleaseNode, true, false, "", "newer than an apiserver v1.34.3"},
		"a worker that says it is local":      {"v1.35.2", "v1.34.3", "w1", v1alpha1.ReleaseNode, true, true, "", "newer than an apiserver v1.34.3"},
		"a worker":                            {"v1.35.2", "v1.35.2", "w1", v1alpha1.ReleaseNode, false, false, "", ""},
		"a worker, an older one":              {"v1.35.2", "v1.34.3", "w1", v1alpha1.ReleaseNode, false, false, "", "newer than an apiserver v1.34.3"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := func(node, version string) corev1.Pod {
				return corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver-" + node},
					Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Image: "registry.k8s.io/kube-apiserver:" + version}}},
					Status:     corev1.PodStatus{Phase: corev1.PodRunning},
				}
			}
			o := machine.Observation{Host: &machine.Host{KubeadmVersion: test.kubeadm}}
			o.Spec.Version, o.Spec.Release, o.Spec.Type = "v1.35.2", test.release, v1alpha1.TypeMinor
			o.Node.KubeletVersion = "v1.34.3"
			o.Host.ControlPlane, o.Host.Node.OwnAPIServer = test.node != "w1", test.local
			if test.node == "" {
				o.Host = nil
			}
			err := checkSkew(test.node, []corev1.Pod{pod("cp1", test.cp1), pod("cp2", test.cp2)}, o, test.request)
			if test.refuses == "" && err != nil || test.refuses != "" && (err == nil || !strings.Contains(err.Error(), test.refuses)) {
				t.Errorf("got %v, want %q", err, test.refuses)
			}
		})
	}
}

// TestAPIServersOfAPatch checks that the apiservers are read where their versions count, and only there.
func TestAPIServersOfAPatch(t *testing.T) {
	for name, test := range map[string]struct {
		kubelet  string
		release  v1alpha1.Release
		request  bool
		compares bool
	}{
		"a patch":                     {"v1.35.1", v1alpha1.ReleaseNode, false, false},
		"the same version":            {"v1.35.2", v1alpha1.ReleaseNode, false, false},
		"a minor":                     {"v1.34.3", v1alpha1.ReleaseNode, false, true},
		"another major":               {"v2.35.1", v1alpha1.ReleaseNode, false, true},
		"pass 1 of a patch":           {"v1.35.1", v1alpha1.ReleaseControlPlane, false, true},
		"a patch by request":          {"v1.35.1", v1alpha1.ReleaseNode, true, true},
		"a version that is not known": {"", v1alpha1.ReleaseNode, false, true},
	} {
		o := machine.Observation{}
		o.Spec.Version, o.Spec.Release, o.Spec.Type = "v1.35.2", test.release, v1alpha1.TypePatch
		o.Node.KubeletVersion = test.kubelet
		if got := comparesAPIServers(o, test.request); got != test.compares {
			t.Errorf("%s: %t, want %t", name, got, test.compares)
		}
		if err := checkSkew("w1", nil, o, test.request); (err != nil) != test.compares {
			t.Errorf("%s, with no apiserver that was read: %v", name, err)
		}
	}
	o := machine.Observation{}
	o.Spec.Version, o.Spec.Release, o.Node.KubeletVersion = "v1.35.2", v1alpha1.ReleaseNode, "v1.35.4"
	if err := checkSkew("w1", nil, o, false); err == nil {
		t.Error("a kubelet may be downgraded within its minor")
	}
}
