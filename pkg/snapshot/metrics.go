package snapshot

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/staticpod"
)

const (
	// endpointAnnotation is where kubeadm writes down an apiserver's own address.
	// https://kubernetes.io/docs/reference/labels-annotations-taints/
	endpointAnnotation = "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"
	defaultPort        = "6443"
	// servingName is in every apiserver's certificate that kubeadm makes, whatever
	// its address. https://kubernetes.io/docs/setup/best-practices/certificates/
	servingName = "kubernetes.default.svc"
	// metricsPatience is how long an apiserver may take to answer. Its metrics are
	// some megabytes on a big cluster.
	metricsPatience = 10 * time.Second
	// dialPatience is how long it may take until somebody listens.
	dialPatience = 2 * time.Second
)

// requestedAPIs asks every apiserver, as each counts for itself, at its own
// address: the stable one reaches any of them, and the pod proxy passes no
// credentials on. Where one does not answer there, as from a user's machine, the
// stable address stands in, asked again and again as long as it leads to others:
// what it says is of some apiserver.
func requestedAPIs(ctx context.Context, access *rest.Config, pods []corev1.Pod) (apis []preflight.RequestedAPI, unread []string) {
	servers := slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool { return p.Labels[componentLabel] != apiServer || !staticpod.Is(&p) })
	answers := make([]metricsAnswer, len(servers))
	var group sync.WaitGroup
	for i := range servers {
		group.Go(func() { answers[i] = askDirectly(ctx, access, &servers[i]) })
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
	more, err := askTheStable(ctx, access, reached, len(servers))
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
	apis = append(apis, unlike(more, apis)...)
	if len(reached) >= len(servers) {
		return apis, nil
	}
	return apis, []string{fmt.Sprintf("The metrics of the kube-apiserver on %s could not be read (%s): which deprecated APIs were called there is not known.",
		strings.Join(silent, ", "), shortened(reason))}
}

// askTheStable asks at the stable address, over a new connection each time, which a
// balancer may lead to another apiserver. It ends when all were reached, or when
// that leads to nobody new any more. Who was reached is added.
func askTheStable(ctx context.Context, access *rest.Config, reached map[float64]bool, servers int) ([]preflight.RequestedAPI, error) {
	const inVain = 3 // asks in a row after which there is nobody new
	var apis []preflight.RequestedAPI
	for vain := 0; vain < inVain && (len(reached) < servers || servers == 0); vain++ {
		answer := readMetrics(ctx, access, "")
		if answer.err != nil {
			return apis, answer.err
		}
		if !reached[answer.started] {
			reached[answer.started], vain = true, -1
		}
		apis = append(apis, unlike(answer.apis, apis)...)
		if servers < 2 {
			break
		}
	}
	return apis, nil
}

// metricsAnswer is what one apiserver says.
type metricsAnswer struct {
	apis []preflight.RequestedAPI
	// started is when in seconds, by which one process is told from another.
	started float64
	err     error
}

// unlike are the APIs that no apiserver whose name is known was asked for.
func unlike(some, known []preflight.RequestedAPI) []preflight.RequestedAPI {
	return slices.DeleteFunc(some, func(api preflight.RequestedAPI) bool {
		return slices.ContainsFunc(known, func(other preflight.RequestedAPI) bool {
			other.APIServer = api.APIServer
			return other == api
		})
	})
}

// askDirectly asks an apiserver at its own address. Credentials go to nobody
// who does not show a certificate of the cluster for the apiserver's name.
func askDirectly(ctx context.Context, access *rest.Config, pod *corev1.Pod) metricsAnswer {
	address := serverAddress(pod)
	if access.Insecure || address == "" {
		return metricsAnswer{err: errors.New("its own address cannot be asked safely")}
	}
	direct := rest.CopyConfig(access)
	direct.Host, direct.APIPath = "https://"+address, ""
	direct.ServerName = servingName
	return readMetrics(ctx, direct, pod.Spec.NodeName)
}

// impatient is a dialer that gives up soon: where there is no way to the nodes'
// own addresses, packets mostly vanish.
func impatient(access *rest.Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	dial := access.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialPatience)
		defer cancel()
		return dial(ctx, network, address)
	}
}

// serverAddress is where the apiserver of that pod listens.
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

// readMetrics reads the deprecated APIs out of the metrics that access leads to,
// over a connection of its own.
func readMetrics(ctx context.Context, access *rest.Config, server string) metricsAnswer {
	ctx, cancel := context.WithTimeout(ctx, metricsPatience)
	defer cancel()
	access = rest.CopyConfig(access)
	access.Dial = impatient(access) // with one of its own, no connection is shared
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
	return decodeMetrics(expfmt.NewDecoder(response.Body, expfmt.ResponseFormat(response.Header)), server)
}

// shortened leaves out of a request's error what it was asked for.
func shortened(err error) string {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return err.Error()
}
