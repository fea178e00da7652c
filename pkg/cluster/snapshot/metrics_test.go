package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

func TestDecodeMetrics(t *testing.T) {
	decode := func(text string) metricsAnswer {
		return decodeMetrics(delimited(t, text), "cp1")
	}
	const text = `# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs that have been requested.
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="flowcontrol.apiserver.k8s.io",removed_release="1.32",resource="flowschemas",subresource="status",version="v1beta3"} 1
apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="",removed_release="",resource="componentstatuses",subresource="",version="v1"} 0
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.7637e+09
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",group="",version="v1"} 12
`
	got := decode(text)
	if got.err != nil || got.started != 1.7637e+09 {
		t.Fatalf("%+v", got)
	}
	want := []preflight.RequestedAPI{
		{APIServer: "cp1", Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta3", Resource: "flowschemas", Subresource: "status", Remove: "1.32"},
		{APIServer: "cp1", Version: "v1", Resource: "endpoints"},
	}
	if diff := cmp.Diff(want, got.apis); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for what, body := range map[string]string{
		"text": text, "a size and nothing more": "\x7f", "a size beyond all memory": "\xff\xff\xff\xff\xff\xff\xff\xff\x7fx",
	} {
		if decodeMetrics(strings.NewReader(body), "cp1").err == nil {
			t.Errorf("%s is no error", what)
		}
	}
}

// delimited encodes metrics as an apiserver does.
func delimited(t *testing.T, text string) io.Reader {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	encoder := expfmt.NewEncoder(&body, metricsFormat)
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if err := encoder.Encode(families[name]); err != nil {
			t.Fatal(err)
		}
	}
	return &body
}

// An apiserver, or what is at its address, that answers otherwise is told of.
func TestMetricsInAnotherFormat(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		answer.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(answer, "# TYPE x \n{}0")
	}))
	defer server.Close()
	if got := readMetrics(t.Context(), &rest.Config{Host: server.URL}, "cp1"); got.err == nil || !strings.Contains(got.err.Error(), "another format") {
		t.Errorf("%+v", got)
	}
}

// An apiserver answers in the format that does not fill the memory.
func TestMetricsFormat(t *testing.T) {
	config := apitest.Start(t)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", string(metricsFormat))
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	format := expfmt.ResponseFormat(response.Header)
	if answer := decodeMetrics(response.Body, "cp1"); format != metricsFormat || answer.started == 0 || answer.err != nil {
		t.Errorf("in the format %q: %+v", format, answer)
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
	got := newAPIs([]preflight.RequestedAPI{endpoints, other}, []preflight.RequestedAPI{known})
	if diff := cmp.Diff([]preflight.RequestedAPI{other}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// balancer leads each connection to the next of its apiservers, each of which was
// asked for an API of its own. They do not answer at their own addresses.
func balancer(t *testing.T, apiServers int, dials *atomic.Int32) *rest.Config {
	t.Helper()
	var lock sync.Mutex
	leads := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		defer lock.Unlock()
		to, known := leads[r.RemoteAddr]
		if !known {
			to = len(leads) % apiServers
			leads[r.RemoteAddr] = to
		}
		w.Header().Set("Content-Type", string(metricsFormat))
		_, _ = io.Copy(w, delimited(t, fmt.Sprintf("# TYPE %[1]s gauge\n%[1]s %[3]d\n# TYPE %[2]s gauge\n%[2]s{group=\"\",version=\"v%[3]d\",resource=\"x\"} 1\n", processStart, deprecatedAPIs, to)))
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "192.0.2.") {
			<-ctx.Done()
			return nil, errors.New("i/o timeout")
		}
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
}

// What was asked over a connection of its own leaves none behind.
func TestNoConnectionIsLeft(t *testing.T) {
	closed := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", string(metricsFormat))
	}))
	server.EnableHTTP2 = true
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			close(closed)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	access := &rest.Config{Host: server.URL, BearerToken: "x", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	if answer := readMetrics(t.Context(), access, ""); answer.err != nil {
		t.Fatal(answer.err)
	}
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("the connection is still there")
	}
}

// From where the nodes' own addresses cannot be reached, the apiservers behind a
// balancer are told apart, and the answer does not take long.
func TestAPIServersBehindABalancer(t *testing.T) {
	var pods []corev1.Pod
	for i := range 3 {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{componentLabel: apiServer}}, Spec: corev1.PodSpec{NodeName: fmt.Sprintf("cp%d", i+1)}}
		pod.Status.PodIP = fmt.Sprintf("192.0.2.%d", i+1)
		pods = append(pods, pod)
	}
	for name, test := range map[string]struct {
		behind, apis, asks int
		unread             bool
	}{
		"all of them":    {behind: 3, apis: 3, asks: 3},
		"two of them":    {behind: 2, apis: 2, asks: 5, unread: true},
		"always the one": {behind: 1, apis: 1, asks: 4, unread: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dials atomic.Int32
			begun := time.Now()
			apis, unread := requestedAPIs(t.Context(), balancer(t, test.behind, &dials), pods)
			if len(apis) != test.apis || int(dials.Load()) != test.asks || (len(unread) > 0) != test.unread {
				t.Errorf("%d APIs after %d asks, unread: %q; want %d after %d", len(apis), dials.Load(), unread, test.apis, test.asks)
			}
			if took := time.Since(begun); took > 2*dialTimeout {
				t.Errorf("it took %s", took)
			}
		})
	}
}
