package facts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// KubeletStart is how the kubelet is started.
type KubeletStart struct {
	// Program is the file that the running kubelet was started from; empty: it does not run.
	Program string
	// Args are those of its unit, or of the running kubelet if the unit starts it by another program.
	Args []string
	// Files are what Args name and the kubelet reads first: its configuration, drop-ins, and the CA of its clients.
	Files []host.File
}

// ReadKubeletStart reads how systemd starts the kubelet. rewritten leaves out what kubeadm writes anew when it brings another
// minor: the flags in kubeadm-flags.env, and the fields in the kubelet's config.yaml.
func ReadKubeletStart(ctx context.Context, l host.Layout, rewritten bool) (KubeletStart, error) {
	g := &gatherer{Layout: l, problems: map[string]bool{}}
	emptied := ""
	if rewritten {
		emptied = host.KubeletFlags
	}
	service, err := askSystemd(ctx, "kubelet.service")
	if err != nil {
		return KubeletStart{}, fmt.Errorf("asking systemd how kubelet.service is started: %w", err)
	}
	start := KubeletStart{}
	running, runs := kubeletProcess(Processes(l))
	if runs {
		start.Program = running.program
	}
	switch {
	case len(service.command) > 0 && filepath.Base(service.command[0]) == "kubelet":
		start.Args = service.arguments(g.environment(service, emptied))
	case runs && !rewritten:
		start.Args = running.args
	default:
		return start, errors.New("kubelet.service starts another program: the kubelet's flags are not known")
	}
	start.Files, err = g.kubeletFiles(parseFlags(start.Args))
	for i := range start.Files {
		if rewritten && start.Files[i].Path == host.KubeletConfig {
			start.Files[i].Content = []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
		}
	}
	return start, err
}

// kubeletProcess returns the kubelet's process.
func kubeletProcess(processes []Process) (Process, bool) {
	for _, p := range processes {
		if p.IsKubelet() && p.Name == "kubelet" {
			return p, true
		}
	}
	return Process{}, false
}

// kubeletFiles returns the files that the flags name. One that is not there is left out: the kubelet says so. None may have
// a private key.
func (g *gatherer) kubeletFiles(f flags) (files []host.File, err error) {
	paths := g.kubeletConfigPaths(f)
	authority := ""
	for _, path := range paths {
		var config struct {
			Authentication struct{ X509 struct{ ClientCAFile string } }
		}
		if data, err := g.read(path); err == nil && yaml.Unmarshal(data, &config) == nil {
			authority = cmp.Or(config.Authentication.X509.ClientCAFile, authority)
		}
	}
	if authority = cmp.Or(f.value("client-ca-file"), authority); authority != "" {
		paths = append(paths, authority)
	}
	for _, path := range paths {
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
		files = append(files, host.File{Path: cmp.Or(filepath.Clean(dir), string(os.PathSeparator)) + "/.rehearsal"})
	}
	return files, nil
}

// KubeletConfigFiles returns the files of the running kubelet's configuration.
func KubeletConfigFiles(l host.Layout) (paths []string) {
	running, runs := kubeletProcess(Processes(l))
	if !runs {
		return nil
	}
	g := &gatherer{Layout: l, problems: map[string]bool{}}
	return g.kubeletConfigPaths(parseFlags(running.args))
}

// kubeletConfigPaths returns the files of the configuration that the flags name, in the order in which the kubelet merges
// them.
func (g *gatherer) kubeletConfigPaths(f flags) (paths []string) {
	if config := f.value("config"); config != "" {
		paths = append(paths, config)
	}
	if dir := f.value("config-dir"); dir != "" {
		paths = append(paths, g.configDropIns(dir)...)
	}
	return paths
}
