package rollback

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/guard"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// answerWithin is how long the kubelet and the API server may take to answer.
const answerWithin = 5 * time.Second

// checker finds out what is wrong with a node that has merged an activated version.
type checker struct {
	host.Layout
	activation host.Guard
	http       http.Client
	// ran has the components whose processes ran since the guard began. One that ends
	// later may have lost etcd's majority, or its API server: the kubelet started it.
	ran map[string]bool
}

func newChecker(l host.Layout, activation host.Guard) *checker {
	return &checker{Layout: l, activation: activation, ran: map[string]bool{}, http: http.Client{
		Timeout:   answerWithin,
		Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true},
	}}
}

func (c *checker) check(ctx context.Context) guard.Health {
	processes := c.processes()
	h := guard.Health{Kubelet: c.checkKubelet(ctx, processes), StaticPods: c.checkStaticPods(processes)}
	config, err := clientcmd.BuildConfigFromFlags("", c.At(host.KubeletAccess))
	if err != nil {
		return h // a node that cannot ask the API server
	}
	h.Network = checkNetwork(ctx, c.Layout, c.activation.DefaultRoute, config.Host)
	answer, ready := c.checkNode(ctx, config)
	h.API = answer
	if _, err := os.Stat(c.At(host.ManifestsDir, "kube-apiserver.yaml")); ready && err != nil {
		h.Network = "" // the API server is on another node, and shows this one as Ready
	}
	return h
}

// checkKubelet asks the kubelet's health endpoint.
func (c *checker) checkKubelet(ctx context.Context, processes []process) string {
	var args []string
	runs := false
	for _, p := range processes {
		if !p.inService("kubelet.service") {
			continue
		}
		if runs = true; p.name == "kubelet" {
			args = p.args
		}
	}
	if !runs {
		return "the kubelet does not run"
	}
	address := c.healthAddress(args)
	if address == "" {
		return ""
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		return err.Error()
	}
	response, err := c.http.Do(request)
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
func (c *checker) healthAddress(args []string) string {
	flags := flagValues(args)
	config := struct {
		HealthzPort        *int
		HealthzBindAddress string
	}{}
	if text, err := os.ReadFile(c.At(cmp.Or(flags["--config"], host.KubeletConfig))); err == nil {
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

// checkStaticPods looks for the processes of the components that have a manifest. Their
// own health is not asked: it depends on other nodes.
func (c *checker) checkStaticPods(processes []process) string {
	var missing []string
	for _, component := range append(slices.Clone(host.ControlPlaneComponents), "etcd") {
		if slices.ContainsFunc(processes, func(p process) bool { return p.name == component }) {
			c.ran[component] = true
		}
		if _, err := os.Stat(c.At(host.ManifestsDir, component+".yaml")); err == nil && !c.ran[component] {
			missing = append(missing, component)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "these static pods do not run: " + strings.Join(missing, ", ")
}
