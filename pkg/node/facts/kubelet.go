package facts

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// Kubelet is the node's kubelet: the process that runs, and what it was told.
type Kubelet struct {
	g         *gatherer
	processes []process
	// process is nil if the kubelet does not run.
	process *process
	// flags are those of its command line or, if it does not run, those that its unit gives it.
	flags flags
	// config is its configuration with the drop-ins.
	config clusterstate.KubeletConfig
}

// FindKubelet finds the node's kubelet. It asks systemd for the main process of kubelet.service.
func FindKubelet(ctx context.Context, l host.Layout) *Kubelet {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	g := newGatherer(l, func(name string) (service, error) { return askSystemd(ctx, name) })
	g.own = g.findKubelet(g.service(kubeletUnit))
	return g.own
}

const kubeletUnit = "kubelet.service"

func (g *gatherer) findKubelet(unit service) *Kubelet {
	k := &Kubelet{g: g, processes: processesOf(g.Layout)}
	k.process = kubeletAmong(k.processes, unit.main)
	if k.process != nil {
		k.flags = parseFlags(k.process.args)
	} else {
		k.flags = g.flagsOf(unit, "")
	}
	k.config = g.kubeletConfig(append([]string{k.flags.kubeletConfig()}, g.configDropIns(k.flags)...))
	return k
}

// Runs reports whether the kubelet runs.
func (k *Kubelet) Runs() bool { return k.process != nil }

// rotatedCertificate returns where the kubelet keeps its client certificate if it rotates it
// (pkg/kubelet/certificate, kubelet 1.34), and where it looks before it uses the one in its
// kubeconfig. It is empty if the kubelet does not rotate it.
func (k *Kubelet) rotatedCertificate() string {
	rotates := k.config.Values.RotateCertificates
	if flag := k.flags["rotate-certificates"]; flag != nil && k.flags.value("rotate-certificates") == "false" || flag == nil && (rotates == nil || !*rotates) {
		return ""
	}
	return k.inCertDir("kubelet-client-current.pem")
}

// inCertDir returns the path of a file in the folder of the kubelet's certificates.
func (k *Kubelet) inCertDir(name string) string {
	return filepath.Join(cmp.Or(k.flags.value("cert-dir"), "/var/lib/kubelet/pki"), name)
}

// servingCertificate returns the file with the certificate with which the kubelet serves its API: its own, one that it
// requests from the cluster, or one that it makes itself at its first start (kubelet 1.34, InitializeTLS).
func (k *Kubelet) servingCertificate() string {
	if file := cmp.Or(k.flags.value("tls-cert-file"), k.config.Values.TLSCertFile); file != "" {
		return file
	}
	if k.requestsServing() {
		return k.inCertDir("kubelet-server-current.pem")
	}
	return k.inCertDir("kubelet.crt")
}

// requestsServing reports whether the kubelet requests its serving certificate from the cluster.
func (k *Kubelet) requestsServing() bool {
	if flag := k.flags["rotate-server-certificates"]; flag != nil {
		return k.flags.value("rotate-server-certificates") != "false"
	}
	return k.config.Values.ServerTLSBootstrap != nil && *k.config.Values.ServerTLSBootstrap
}

// servingRenewer returns who renews the certificate with which the kubelet serves.
func (k *Kubelet) servingRenewer() v1alpha1.CertificateRenewer {
	switch k.servingCertificate() {
	case k.inCertDir("kubelet-server-current.pem"):
		return v1alpha1.RenewedByKubelet
	case k.inCertDir("kubelet.crt"):
		return v1alpha1.RenewedByNone
	}
	return v1alpha1.RenewedElsewhere
}

// startFlags returns the flags with which the kubelet will be started the next time, and those
// of them that are not, or not only, in the file that kubeadm writes. The unit says so, and the
// running kubelet does only if a script or another program starts it: kubeadm may have changed
// the file since.
func (k *Kubelet) startFlags(unit service) (all, elsewhere flags) {
	direct := len(unit.command) > 0 && filepath.Base(unit.command[0]) == "kubelet"
	if direct || k.process == nil || k.process.name != "kubelet" {
		return k.g.flagsOf(unit, ""), k.g.flagsOf(unit, host.KubeletFlags)
	}
	elsewhere = maps.Clone(k.flags)
	for _, value := range environmentFile(string(k.g.readIfThere(host.KubeletFlags))) {
		for name := range parseFlags(words(value)) {
			delete(elsewhere, name)
		}
	}
	return k.flags, elsewhere
}

// kubelet collects the kubelet's flags and its configuration as the next start finds them.
func (g *gatherer) kubelet() {
	unit := g.service(kubeletUnit)
	g.own = g.findKubelet(unit)
	flags, elsewhere := g.own.startFlags(unit)
	g.facts.KubeletFlags, g.facts.KubeletFlagsElsewhere = namesAndGates(flags), namesAndGates(elsewhere)
	config, merged := flags.kubeletConfig(), g.configDropIns(flags)
	kept := []string{config}
	if config == host.KubeletConfig {
		kept = g.kubeletPatches()
	}
	all := g.kubeletConfig(append([]string{config}, merged...))
	other := g.kubeletConfig(append(kept, merged...))
	g.facts.KubeletConfigFields, g.facts.FailCgroupV1 = all.Fields, all.FailCgroupV1
	g.facts.KubeletConfigFieldsElsewhere, g.facts.FailCgroupV1Elsewhere = other.Fields, other.FailCgroupV1
}

// kubeletConfig returns the path of the kubelet's configuration.
func (f flags) kubeletConfig() string { return cmp.Or(f.value("config"), host.KubeletConfig) }

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
// depth (kubelet 1.35, mergeKubeletConfigurations). There is a folder of them only if the flag
// --config-dir names it.
func (g *gatherer) configDropIns(f flags) []string {
	dir := f.value("config-dir")
	if dir == "" {
		return nil
	}
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
