package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// answerWithin is how long the kubelet may take to answer.
const answerWithin = 5 * time.Second

// Problem asks the kubelet's health endpoint, and returns what is wrong with it; "" if nothing
// is.
func Problem(ctx context.Context, l host.Layout, processes []Process) string {
	var args []string
	runs := false
	for _, p := range processes {
		if !p.IsKubelet() {
			continue
		}
		if runs = true; p.Name == "kubelet" {
			args = p.args
		}
	}
	if !runs {
		return "the kubelet does not run"
	}
	address := healthAddress(l, args)
	if address == "" {
		return ""
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		return err.Error()
	}
	client := http.Client{Timeout: answerWithin, Transport: &http.Transport{DisableKeepAlives: true}} // no proxy
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

// healthAddress returns the address of the kubelet's health endpoint, from its flags, its
// config.yaml, or the kubelet's defaults (KubeletConfiguration, healthzPort and
// healthzBindAddress). It is empty if the endpoint is disabled.
func healthAddress(l host.Layout, args []string) string {
	flags := flagValues(args)
	config := struct {
		HealthzPort        *int
		HealthzBindAddress string
	}{}
	if text, err := os.ReadFile(l.At(cmp.Or(flags["--config"], host.KubeletConfig))); err == nil {
		_ = yaml.Unmarshal(text, &config) // the kubelet that runs could read it
	}
	address, port := cmp.Or(flags["--healthz-bind-address"], config.HealthzBindAddress, "127.0.0.1"), "10248"
	if config.HealthzPort != nil {
		port = strconv.Itoa(*config.HealthzPort)
	}
	port = cmp.Or(flags["--healthz-port"], port)
	if port == "0" {
		return ""
	}
	if ip := net.ParseIP(address); ip != nil && ip.IsUnspecified() {
		address = "127.0.0.1"
	}
	return net.JoinHostPort(address, port)
}

// flagValues maps each flag of a command line to its value.
func flagValues(args []string) map[string]string {
	flags := map[string]string{}
	for i, arg := range args {
		name, value, found := strings.Cut(arg, "=")
		if !found && i+1 < len(args) {
			value = args[i+1]
		}
		flags[name] = value
	}
	return flags
}
