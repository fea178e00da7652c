package nodefacts

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// kubelet reads how it is started, and what it is configured with. A folder of
// drop-ins has no default: the flag --config-dir names it or there is none.
func (g *gatherer) kubelet() {
	flags := g.flagsOf("kubelet.service", "")
	g.facts.KubeletFlags = namesAndGates(flags)
	g.facts.KubeletFlagsElsewhere = namesAndGates(g.flagsOf("kubelet.service", host.KubeletFlags))
	config := flags.value("config")
	if config == "" {
		config = host.KubeletConfig
	}
	paths := []string{config}
	if dir := flags.value("config-dir"); dir != "" {
		paths = append(paths, g.configDropIns(dir)...)
	}
	fields := map[string]bool{}
	for _, path := range paths {
		g.kubeletConfig(path, fields)
	}
	g.facts.KubeletConfigFields = slices.Sorted(maps.Keys(fields))
}

// namesAndGates are the flags, and each feature gate behind the name of its flag.
func namesAndGates(f flags) []string {
	const featureGates = "feature-gates"
	names := f.names()
	for _, gate := range f.gates(featureGates) {
		names = append(names, featureGates+"."+gate)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// configDropIns are the files that the kubelet merges, in its order: every
// .conf at any depth (kubelet 1.35, mergeKubeletConfigurations).
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

// kubeletConfig adds one file's fields. What a later file says of failCgroupV1
// counts, as it does for the kubelet.
func (g *gatherer) kubeletConfig(path string, fields map[string]bool) {
	data := g.readIfThere(path)
	var config map[string]any
	if err := yaml.Unmarshal(data, &config); err != nil {
		g.problem("decoding %s: %v", path, err)
		return
	}
	for field, value := range config {
		if field == "apiVersion" || field == "kind" {
			continue
		}
		fields[field] = true
		if gates, ok := value.(map[string]any); ok && field == "featureGates" {
			for gate := range gates {
				fields["featureGates."+gate] = true
			}
		}
	}
	if value, there := config["failCgroupV1"]; there {
		if fail, ok := value.(bool); ok {
			g.facts.FailCgroupV1 = &fail
		} else {
			g.problem("%s has failCgroupV1: %v, which is neither true nor false", path, value)
		}
	}
}
