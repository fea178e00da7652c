package rollback

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/guard"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// answerWithin is how long the kubelet and the API server may take to answer.
const answerWithin = 5 * time.Second

// checkHealth returns what is wrong with a node that has merged the activated version.
func checkHealth(ctx context.Context, l host.Layout, record host.Guard) guard.Health {
	programs := running(l)
	h := guard.Health{
		Kubelet:    checkKubelet(ctx, l, programs),
		StaticPods: checkStaticPods(l, programs),
	}
	config, err := clientcmd.BuildConfigFromFlags("", l.At(host.KubeletAccess))
	if err != nil {
		return h // a node that cannot ask the API server
	}
	h.Network = checkNetwork(ctx, l, record.DefaultRoute, config.Host)
	if h.Network == "" {
		h.API = checkNode(ctx, l, config, record.To)
	}
	return h
}

// checkKubelet asks the kubelet's health endpoint.
func checkKubelet(ctx context.Context, l host.Layout, programs map[string][]string) string {
	args, runs := programs["kubelet"]
	if !runs {
		return "the kubelet does not run"
	}
	address := healthAddress(l, args)
	if address == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		return err.Error()
	}
	response, err := http.DefaultClient.Do(request)
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
	config := struct {
		HealthzPort        *int
		HealthzBindAddress string
	}{}
	if text, err := os.ReadFile(l.At(host.KubeletConfig)); err == nil {
		_ = yaml.Unmarshal(text, &config) // the kubelet that runs could read it
	}
	address, port := "127.0.0.1", "10248"
	if config.HealthzBindAddress != "" {
		address = config.HealthzBindAddress
	}
	if config.HealthzPort != nil {
		port = fmt.Sprint(*config.HealthzPort)
	}
	for i, arg := range args {
		name, value, found := strings.Cut(arg, "=")
		if !found && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "--healthz-port":
			port = value
		case "--healthz-bind-address":
			address = value
		}
	}
	if port == "0" {
		return ""
	}
	if ip := net.ParseIP(address); ip != nil && ip.IsUnspecified() {
		address = "127.0.0.1"
	}
	return net.JoinHostPort(address, port)
}

// checkStaticPods looks for the processes of the components that have a manifest. Their
// own health is not asked: it depends on other nodes.
func checkStaticPods(l host.Layout, programs map[string][]string) string {
	var missing []string
	for _, component := range append(slices.Clone(host.ControlPlaneComponents), "etcd") {
		_, err := os.Stat(l.At(host.ManifestsDir, component+".yaml"))
		if _, runs := programs[component]; err == nil && !runs {
			missing = append(missing, component)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "these static pods do not run: " + strings.Join(missing, ", ")
}

// running maps the name of each program that runs to its arguments.
func running(l host.Layout) map[string][]string {
	programs := map[string][]string{}
	paths, _ := filepath.Glob(l.At("/proc/[0-9]*/cmdline"))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil || len(text) == 0 {
			continue // it has ended, or is a thread of the kernel
		}
		args := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		programs[filepath.Base(args[0])] = args[1:]
	}
	return programs
}
