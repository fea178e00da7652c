package facts

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// kubelet collects the kubelet's flags and its configuration. There is a folder of drop-ins
// only if the flag --config-dir names it.
func (g *gatherer) kubelet() {
	kubelet := g.service("kubelet.service")
	flags := g.flagsOf(kubelet, "")
	g.facts.KubeletFlags = namesAndGates(flags)
	g.facts.KubeletFlagsElsewhere = namesAndGates(g.flagsOf(kubelet, host.KubeletFlags))
	config := cmp.Or(flags.value("config"), host.KubeletConfig)
	var merged, kept []string
	if dir := flags.value("config-dir"); dir != "" {
		merged = g.configDropIns(dir)
	}
	if config == host.KubeletConfig {
		kept = g.kubeletPatches()
	} else {
		kept = []string{config}
	}
	all := g.kubeletConfig(append([]string{config}, merged...))
	elsewhere := g.kubeletConfig(append(kept, merged...))
	g.facts.KubeletConfigFields, g.facts.FailCgroupV1 = all.Fields, all.FailCgroupV1
	g.facts.KubeletConfigFieldsElsewhere, g.facts.FailCgroupV1Elsewhere = elsewhere.Fields, elsewhere.FailCgroupV1
}

// namesAndGates returns the names of the flags, and feature-gates.GATE for each feature
// gate.
func namesAndGates(f flags) []string {
	const featureGates = "feature-gates"
	names := f.names()
	for _, gate := range f.gates(featureGates) {
		names = append(names, featureGates+"."+gate)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// configDropIns returns the files that the kubelet merges, in its order: every .conf at any
// depth (kubelet 1.35, mergeKubeletConfigurations).
func (g *gatherer) configDropIns(dir string) []string {
	var paths []string
	err := filepath.WalkDir(g.At(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if below, err := filepath.Rel(g.At(dir), path); err == nil && !d.IsDir() && strings.HasSuffix(path, ".conf") {
			paths = append(paths, filepath.Join(dir, below))
		}
		return nil
	})
	if err != nil {
		g.problem("listing the kubelet's configuration in %s: %v", dir, cause(err))
	}
	return paths
}

// kubeletConfig returns the configuration in the files, merged in their order.
func (g *gatherer) kubeletConfig(paths []string) clusterstate.KubeletConfig {
	var merged clusterstate.KubeletConfig
	for _, path := range paths {
		one, err := clusterstate.ParseKubeletConfig(g.readIfThere(path))
		if err != nil {
			g.problem("reading %s: %v", path, err)
		}
		merged = merged.With(one)
	}
	return merged
}

// answerWithin is how long the kubelet may take to answer.
const answerWithin = 5 * time.Second

// KubeletProblem asks the kubelet's health endpoint, and returns what is wrong with it; "" if nothing
// is.
func KubeletProblem(ctx context.Context, l host.Layout, processes []Process) string {
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

// Process is a process of the node.
type Process struct {
	// Name of its program.
	Name string
	// program is its file.
	program string
	args    []string
	cgroup  string
}

// IsKubelet reports whether the process belongs to the kubelet's unit. A pod may have a process
// of the same name.
func (p Process) IsKubelet() bool { return strings.Contains(p.cgroup, "/kubelet.service") }

// Processes returns the processes that run (proc(5), pid/cmdline and pid/cgroup).
func Processes(l host.Layout) []Process {
	var all []Process
	paths, _ := filepath.Glob(l.At("/proc/[0-9]*"))
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(path, "cmdline"))
		if err != nil || len(text) == 0 {
			continue // it has ended, or is a thread of the kernel
		}
		cgroup, _ := os.ReadFile(filepath.Join(path, "cgroup"))
		args := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		program, _ := os.Readlink(filepath.Join(path, "exe"))
		program = strings.TrimSuffix(program, " (deleted)") // as after a refresh of the merged image
		all = append(all, Process{Name: filepath.Base(args[0]), program: program, args: args[1:], cgroup: string(cgroup)})
	}
	return all
}
