package facts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// KubeletStart is how the kubelet is started.
type KubeletStart struct {
	// Program is the file that the running kubelet was started from; empty: it does not run.
	Program string
	// Args are those of its unit, or of the running kubelet if the unit starts it by another program.
	Args []string
	// Files are the configuration that Args name: a file, and drop-ins.
	Files []host.File
}

// ReadKubeletStart reads how systemd starts the kubelet.
func ReadKubeletStart(ctx context.Context, l host.Layout) (KubeletStart, error) {
	g := &gatherer{Layout: l, problems: map[string]bool{}}
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
		start.Args = service.arguments(g.environment(service, ""))
	case runs:
		start.Args = running.args
	default:
		return start, errors.New("kubelet.service starts another program, and no kubelet runs: its flags are not known")
	}
	start.Files, err = g.kubeletFiles(parseFlags(start.Args))
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

// kubeletFiles returns the configuration that the flags name. None may have a private key.
func (g *gatherer) kubeletFiles(f flags) (files []host.File, err error) {
	paths := []string{}
	if config := f.value("config"); config != "" {
		paths = append(paths, config)
	}
	dir := f.value("config-dir")
	if dir != "" {
		paths = append(paths, g.configDropIns(dir)...)
	}
	for _, path := range paths {
		content, err := g.read(path)
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(content), "PRIVATE KEY") {
			return nil, fmt.Errorf("%s has a private key, and is not copied", path)
		}
		files = append(files, host.File{Path: path, Content: content})
	}
	if dir != "" { // the folder has to be there, also without a drop-in
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
	f := parseFlags(running.args)
	if config := f.value("config"); config != "" {
		paths = append(paths, config)
	}
	if dir := f.value("config-dir"); dir != "" {
		paths = append(paths, g.configDropIns(dir)...)
	}
	return paths
}
