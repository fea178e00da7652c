package snapshot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
)

func TestParseMetrics(t *testing.T) {
	const text = `# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs that have been requested.
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="flowcontrol.apiserver.k8s.io",removed_release="1.32",resource="flowschemas",subresource="status",version="v1beta3"} 1
apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="",removed_release="",resource="componentstatuses",subresource="",version="v1"} 0
apiserver_request_total{code="200",component="apiserver",group="",version="v1"} 12
`
	got, err := parseMetrics(strings.NewReader(text), "cp1")
	if err != nil {
		t.Fatal(err)
	}
	want := []preflight.RequestedAPI{
		{APIServer: "cp1", Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta3", Resource: "flowschemas", Subresource: "status", Remove: "1.32"},
		{APIServer: "cp1", Version: "v1", Resource: "endpoints"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := parseMetrics(strings.NewReader(strings.Repeat("x", 2<<20)), "cp1"); err == nil {
		t.Error("a line without an end is no error")
	}
}

func TestServerAddress(t *testing.T) {
	pod := func(ip, annotation string, args ...string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
		p.Status.PodIP = ip
		if annotation != "" {
			p.Annotations[endpointAnnotation] = annotation
		}
		p.Spec.Containers = []corev1.Container{{Command: append([]string{"kube-apiserver"}, args...)}}
		return p
	}
	for _, test := range []struct {
		pod  *corev1.Pod
		want string
	}{
		{pod("10.0.0.1", "10.0.0.2:7443"), "10.0.0.2:7443"},
		{pod("10.0.0.1", ""), "10.0.0.1:6443"},
		{pod("fd00::1", "", "--secure-port=7443"), "[fd00::1]:7443"},
		{pod("", ""), ""},
	} {
		if got := serverAddress(test.pod); got != test.want {
			t.Errorf("%+v: %q, want %q", test.pod, got, test.want)
		}
	}
}

// What some apiserver says is nothing new where one whose name is known said it.
func TestUnlike(t *testing.T) {
	endpoints := preflight.RequestedAPI{Version: "v1", Resource: "endpoints"}
	other := preflight.RequestedAPI{Version: "v1", Resource: "componentstatuses"}
	known := endpoints
	known.APIServer = "cp1"
	got := unlike([]preflight.RequestedAPI{endpoints, other}, []preflight.RequestedAPI{known})
	if diff := cmp.Diff([]preflight.RequestedAPI{other}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
