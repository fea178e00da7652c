package snapshot

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

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
