package snapshot

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/encoding/protodelim"
	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// requestedAPIs reads the metrics of every apiserver, because each counts only its own
// requests. It uses their own addresses: the stable address leads to any of them, and the
// pod proxy does not forward credentials. For apiservers that are not reachable at their
// own address, as from a user's machine, it reads the metrics at the stable address, as
// long as that leads to further apiservers. Their names are then not known.
func requestedAPIs(ctx context.Context, access *rest.Config, pods []corev1.Pod) (apis []preflight.RequestedAPI, unread []string) {
	servers := slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool { return p.Labels[componentLabel] != apiServer || !clusterstate.IsStaticPod(&p) })
	answers := make([]metricsAnswer, len(servers))
	var group sync.WaitGroup
	for i := range servers {
		group.Go(func() {
			defer utilruntime.HandleCrashWithContext(ctx)
			answers[i] = readDirectly(ctx, access, &servers[i])
		})
	}
	group.Wait()
	var silent []string
	var reason error
	reached := map[float64]bool{}
	for i, answer := range answers {
		if answer.err != nil {
			silent, reason = append(silent, servers[i].Spec.NodeName), answer.err
			continue
		}
		apis, reached[answer.started] = append(apis, answer.apis...), true
	}
	if len(servers) > 0 && len(silent) == 0 {
		return apis, nil
	}
	more, err := readStable(ctx, access, reached, len(servers))
	if reason == nil {
		reason = err
	}
	switch {
	case len(servers) == 1 && err == nil:
		for i := range more {
			more[i].APIServer = servers[0].Spec.NodeName
		}
		return more, nil
	case len(servers) == 0:
		return more, []string{"No kube-apiserver pod was found in kube-system: which deprecated APIs are called is not known."}
	}
	apis = append(apis, newAPIs(more, apis)...)
	if len(reached) >= len(servers) {
		return apis, nil
	}
	return apis, []string{fmt.Sprintf("The metrics of the kube-apiserver on %s could not be read (%s): which deprecated APIs were called there is not known.",
		strings.Join(silent, ", "), shortened(reason))}
}

// readStable reads metrics at the stable address, over a new connection each time, which a
// load balancer may send to another apiserver. It ends when all apiservers were reached,
// or after maxRepeats answers in a row from ones already reached. It adds those it reaches
// to reached.
func readStable(ctx context.Context, access *rest.Config, reached map[float64]bool, servers int) ([]preflight.RequestedAPI, error) {
	const maxRepeats = 3
	var apis []preflight.RequestedAPI
	for repeats := 0; repeats < maxRepeats && (len(reached) < servers || servers == 0); repeats++ {
		answer := readMetrics(ctx, access, "")
		if answer.err != nil {
			return apis, answer.err
		}
		if !reached[answer.started] {
			reached[answer.started], repeats = true, -1
		}
		apis = append(apis, newAPIs(answer.apis, apis)...)
		if servers < 2 {
			break
		}
	}
	return apis, nil
}

// metricsAnswer has the metrics of one apiserver.
type metricsAnswer struct {
	apis []preflight.RequestedAPI
	// started is the start time of the process in seconds, which identifies it.
	started float64
	err     error
}

// newAPIs returns those of some that are not in known, whichever apiserver reports them.
func newAPIs(some, known []preflight.RequestedAPI) []preflight.RequestedAPI {
	return slices.DeleteFunc(some, func(api preflight.RequestedAPI) bool {
		return slices.ContainsFunc(known, func(other preflight.RequestedAPI) bool {
			other.APIServer = api.APIServer
			return other == api
		})
	})
}

const (
	// endpointAnnotation is where kubeadm writes an apiserver's own address.
	// https://kubernetes.io/docs/reference/labels-annotations-taints/
	endpointAnnotation = "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"
	defaultPort        = "6443"
	// servingName is in every apiserver's certificate that kubeadm makes, whatever
	// its address. https://kubernetes.io/docs/setup/best-practices/certificates/
	servingName = "kubernetes.default.svc"
	// metricsTimeout limits a request for metrics, which are several megabytes on a
	// big cluster.
	metricsTimeout = 10 * time.Second
	// dialTimeout limits a connection.
	dialTimeout = 2 * time.Second
)

// readDirectly reads the metrics of an apiserver at its own address. It sends credentials only to a
// server with a certificate of the cluster for the apiserver's name.
func readDirectly(ctx context.Context, access *rest.Config, pod *corev1.Pod) metricsAnswer {
	address := serverAddress(pod)
	if access.Insecure || address == "" {
		return metricsAnswer{err: errors.New("its own address cannot be used safely")}
	}
	direct := rest.CopyConfig(access)
	direct.Host, direct.APIPath = "https://"+address, ""
	direct.ServerName = servingName
	return readMetrics(ctx, direct, pod.Spec.NodeName)
}

// dialer returns a dialer with a short timeout: if there is no route to the addresses of the
// nodes, packets are often dropped silently.
func dialer(access *rest.Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	dial := access.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return dial(ctx, network, address)
	}
}

// serverAddress returns the address at which the apiserver of that pod listens; empty if it
// is not known.
func serverAddress(pod *corev1.Pod) string {
	if endpoint := pod.Annotations[endpointAnnotation]; endpoint != "" {
		return endpoint
	}
	if pod.Status.PodIP == "" {
		return ""
	}
	port := defaultPort
	for _, c := range pod.Spec.Containers {
		for _, arg := range append(c.Command, c.Args...) {
			if value, found := strings.CutPrefix(arg, "--secure-port="); found {
				port = value
			}
		}
	}
	return net.JoinHostPort(pod.Status.PodIP, port)
}

// readMetrics reads the metrics of the apiserver that access leads to, over a new
// connection.
func readMetrics(ctx context.Context, access *rest.Config, server string) metricsAnswer {
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	access = rest.CopyConfig(access)
	access.Dial = dialer(access) // connections with a dialer of their own are not shared
	client, err := rest.HTTPClientFor(access)
	if err != nil {
		return metricsAnswer{err: err}
	}
	base, _, err := rest.DefaultServerUrlFor(access)
	if err != nil {
		return metricsAnswer{err: err}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("metrics").String(), nil)
	if err != nil {
		return metricsAnswer{err: err}
	}
	request.Close = true
	request.Header.Set("Accept", string(metricsFormat))
	response, err := client.Do(request)
	if err != nil {
		return metricsAnswer{err: err}
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return metricsAnswer{err: fmt.Errorf("it answers %s", strings.ToLower(response.Status))}
	}
	if format := expfmt.ResponseFormat(response.Header); format.FormatType() != expfmt.TypeProtoDelim {
		return metricsAnswer{err: fmt.Errorf("it answers in another format than requested: %.80q", response.Header.Get("Content-Type"))}
	}
	return decodeMetrics(response.Body, server)
}

// shortened returns a request's error without the request.
func shortened(err error) string {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return err.Error()
}

// metricsFormat can be decoded one family after the other. The library decodes the text
// format all at once, and an apiserver has many families.
var metricsFormat = expfmt.NewFormat(expfmt.TypeProtoDelim)

const (
	// processStart is when the apiserver began, in seconds. Every one has it.
	processStart = "process_start_time_seconds"
	// deprecatedAPIs is 1 for each deprecated API that was called since the
	// apiserver started, however often.
	// https://kubernetes.io/docs/reference/instrumentation/metrics/
	deprecatedAPIs = "apiserver_requested_deprecated_apis"
)

// largestFamily is how many bytes are read into memory at once.
const largestFamily = 32 << 20

// decodeMetrics decodes the metrics that the checks need. It does not use expfmt's
// decoders: the one for text panics on "# TYPE x \n{}0", and the other allocates any size
// that the message claims.
func decodeMetrics(body io.Reader, server string) (answer metricsAnswer) {
	families, limit := bufio.NewReader(body), protodelim.UnmarshalOptions{MaxSize: largestFamily}
	for {
		var family dto.MetricFamily
		if err := limit.UnmarshalFrom(families, &family); err != nil {
			if !errors.Is(err, io.EOF) {
				answer.err = err
			}
			return answer
		}
		for _, metric := range family.GetMetric() {
			value := metric.GetGauge().GetValue()
			switch {
			case family.GetName() == processStart:
				answer.started = value
			case family.GetName() == deprecatedAPIs && value != 0:
				answer.apis = append(answer.apis, requestedAPI(metric, server))
			}
		}
	}
}

func requestedAPI(metric *dto.Metric, server string) preflight.RequestedAPI {
	api := preflight.RequestedAPI{APIServer: server}
	fields := map[string]*string{
		"group": &api.Group, "version": &api.Version, "resource": &api.Resource, "subresource": &api.Subresource, "removed_release": &api.Remove,
	}
	for _, label := range metric.GetLabel() {
		if field := fields[label.GetName()]; field != nil {
			*field = label.GetValue()
		}
	}
	return api
}
