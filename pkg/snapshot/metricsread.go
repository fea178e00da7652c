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
	// dialPatience is how long a connection may take.
	dialPatience = 2 * time.Second
)

// askDirectly asks an apiserver at its own address. It sends credentials only to a
// server with a certificate of the cluster for the apiserver's name.
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

// impatient returns a dialer with a short timeout: where there is no way to the nodes'
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
	if format := expfmt.ResponseFormat(response.Header); format.FormatType() != expfmt.TypeProtoDelim {
		return metricsAnswer{err: fmt.Errorf("it answers in another format than was asked for: %.80q", response.Header.Get("Content-Type"))}
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
