package nodefacts

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kubeletconfig"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// kubelet collects the kubelet's flags and its configuration. There is a folder of drop-ins
// only if the flag --config-dir names it.
func (g *gatherer) kubelet() {
	flags := g.flagsOf("kubelet.service", "")
	g.facts.KubeletFlags = namesAndGates(flags)
	g.facts.KubeletFlagsElsewhere = namesAndGates(g.flagsOf("kubelet.service", host.KubeletFlags))
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
func (g *gatherer) kubeletConfig(paths []string) kubeletconfig.Config {
	var merged kubeletconfig.Config
	for _, path := range paths {
		one, err := kubeletconfig.Parse(g.readIfThere(path))
		if err != nil {
			g.problem("reading %s: %v", path, err)
		}
		merged = merged.With(one)
	}
	return merged
}
