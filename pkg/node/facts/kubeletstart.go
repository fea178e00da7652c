package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// KubeletStart is how the kubelet is started.
type KubeletStart struct {
	// Args are those of its unit, or of the running kubelet if the unit starts it by another program.
	Args []string
	// Files are what Args name and the kubelet reads first: its configuration, drop-ins, and the CA of its clients.
	Files []host.File
}

// Start returns how the kubelet will be started. rewritten leaves out what kubeadm writes anew when it brings another
// minor: the flags in kubeadm-flags.env, and the fields in the kubelet's config.yaml.
func (k *Kubelet) Start(ctx context.Context, rewritten bool) (KubeletStart, error) {
	unit, err := askSystemd(ctx, kubeletUnit)
	if err != nil {
		return KubeletStart{}, fmt.Errorf("asking systemd how %s is started: %w", kubeletUnit, err)
	}
	start, emptied := KubeletStart{}, ""
	if rewritten {
		emptied = host.KubeletFlags
	}
	switch {
	case len(unit.command) > 0 && filepath.Base(unit.command[0]) == "kubelet":
		start.Args = unit.arguments(k.g.environment(unit, emptied))
	case k.process != nil && k.process.name == "kubelet" && !rewritten:
		start.Args = k.process.args
	default:
		return start, fmt.Errorf("%s starts another program: the kubelet's flags are not known", kubeletUnit)
	}
	start.Files, err = k.g.kubeletFiles(parseFlags(start.Args))
	for i := range start.Files {
		if rewritten && start.Files[i].Path == host.KubeletConfig {
			start.Files[i].Content = []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
		}
	}
	return start, err
}

// Program returns the file that the running kubelet was started from; empty: it does not run.
func (k *Kubelet) Program() string {
	if k.process == nil {
		return ""
	}
	return k.process.program
}

// ConfigFiles returns the files of its configuration, in the order in which it merges them, and the CA of its clients.
func (k *Kubelet) ConfigFiles() []string { return k.g.kubeletPaths(k.flags) }

func (g *gatherer) kubeletConfigPaths(f flags) []string {
	return append([]string{f.kubeletConfig()}, g.configDropIns(f)...)
}

// kubeletPaths returns the paths of the files that the flags and the configuration name.
func (g *gatherer) kubeletPaths(f flags) []string {
	paths := g.kubeletConfigPaths(f)
	if authority := g.clientAuthority(f, paths); authority != "" {
		paths = append(paths, authority)
	}
	return paths
}

// kubeletFiles returns the files that the flags name. One that is not there is left out: the kubelet says so. None may have
// a private key.
func (g *gatherer) kubeletFiles(f flags) (files []host.File, err error) {
	for _, path := range g.kubeletPaths(f) {
		content, err := g.read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(content), "PRIVATE KEY") {
			return nil, fmt.Errorf("%s has a private key, and is not copied", path)
		}
		files = append(files, host.File{Path: path, Content: content})
	}
	if dir := f.value("config-dir"); dir != "" { // the folder has to be there, also without a drop-in
		files = append(files, host.File{Path: filepath.Join(dir, ".rehearsal")})
	}
	return files, nil
}

// clientAuthority returns the file with the CA of the kubelet's clients, as the flag or the last of the files names it.
func (g *gatherer) clientAuthority(f flags, paths []string) string {
	authority := f.value("client-ca-file")
	for i := len(paths) - 1; i >= 0 && authority == ""; i-- {
		var config struct {
			Authentication struct{ X509 struct{ ClientCAFile string } }
		}
		if data, err := g.read(paths[i]); err == nil && yaml.Unmarshal(data, &config) == nil {
			authority = config.Authentication.X509.ClientCAFile
		}
	}
	return authority
}
