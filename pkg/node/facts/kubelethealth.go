package facts

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// answerWithin is how long the kubelet, or systemd about it, may take to answer.
const answerWithin = 5 * time.Second

// Problem returns what is wrong with the kubelet; "" if nothing is.
func (k *Kubelet) Problem(ctx context.Context) string {
	if !k.Runs() {
		return "the kubelet does not run"
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if address := k.healthAddress(); address != "" {
		return askHealth(ctx, address)
	}
	if address := k.address(); address != "" {
		return askTLS(ctx, address)
	}
	return "" // it serves nothing
}

// healthAddress returns the address of the kubelet's health endpoint, from its flags, its
// configuration, or the kubelet's defaults (KubeletConfiguration, healthzPort and
// healthzBindAddress). It is empty if the endpoint is disabled.
func (k *Kubelet) healthAddress() string {
	port := "10248"
	if k.config.Values.HealthzPort != nil {
		port = strconv.Itoa(int(*k.config.Values.HealthzPort))
	}
	if port = cmp.Or(k.flags.value("healthz-port"), port); port == "0" {
		return ""
	}
	return onNode(cmp.Or(k.flags.value("healthz-bind-address"), k.config.Values.HealthzBindAddress), port)
}

// address returns the address at which the kubelet serves its API. It is empty if it does not
// (KubeletConfiguration, port, address and enableServer).
func (k *Kubelet) address() string {
	serves := k.config.Values.EnableServer
	if flag := k.flags.value("enable-server"); flag == "false" || flag == "" && serves != nil && !*serves {
		return ""
	}
	port := 10250
	if k.config.Values.Port != 0 {
		port = int(k.config.Values.Port)
	}
	return onNode(cmp.Or(k.flags.value("address"), k.config.Values.Address), cmp.Or(k.flags.value("port"), strconv.Itoa(port)))
}

// onNode returns how a program on the node reaches what listens at an address.
func onNode(address, port string) string {
	if ip := net.ParseIP(address); address == "" || ip != nil && ip.IsUnspecified() {
		address = "127.0.0.1"
	}
	return net.JoinHostPort(address, port)
}

// askHealth asks the health endpoint.
func askHealth(ctx context.Context, address string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		return err.Error()
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy
	response, err := client.Do(request)
	if err != nil {
		return fmt.Sprintf("the kubelet's health endpoint %s does not answer: %v", address, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		return ""
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, 200))
	return fmt.Sprintf("the kubelet's health endpoint answers %d: %s", response.StatusCode, strings.TrimSpace(string(body)))
}

// askTLS finds out whether the kubelet serves its API, where the health endpoint is switched off.
// It makes a TLS connection and asks nothing: /healthz of the API needs rights that no identity
// of the node has, and to find that out the kubelet may ask the API server, which may be away.
// That the kubelet refuses the connection by TLS is an answer, too: it does so while its
// serving certificate is not approved.
func askTLS(ctx context.Context, address string) string {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the kubelet signs its certificate itself, and is told nothing
	conn, err := dialer.DialContext(ctx, "tcp", address)
	var refused *net.OpError
	switch {
	case err == nil:
		_ = conn.Close()
		return ""
	case errors.As(err, &refused) && refused.Op == "remote error":
		return ""
	}
	return fmt.Sprintf("the kubelet's health endpoint is switched off, and its API at %s does not answer: %v", address, err)
}
