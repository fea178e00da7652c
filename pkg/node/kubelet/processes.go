package kubelet

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// Process is a process of the node.
type Process struct {
	// Name of its program.
	Name   string
	args   []string
	cgroup string
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
		all = append(all, Process{Name: filepath.Base(args[0]), args: args[1:], cgroup: string(cgroup)})
	}
	return all
}
