package facts

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// process is a process of the node.
type process struct {
	id, parent int
	// name of its program, and its file.
	name, program string
	args          []string
	cgroup        string
	// started is how long after the boot it was started.
	started time.Duration
}

// processesOf returns the processes that run (proc(5), pid/cmdline, pid/cgroup and pid/stat), by
// their IDs.
func processesOf(l host.Layout) []process {
	var all []process
	paths, _ := filepath.Glob(l.At("/proc/[0-9]*"))
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(path, "cmdline"))
		if err != nil || len(text) == 0 {
			continue // it has ended, or is a thread of the kernel
		}
		p := process{}
		p.id, _ = strconv.Atoi(filepath.Base(path))
		stat, _ := os.ReadFile(filepath.Join(path, "stat"))
		p.parent, p.started = parentIn(string(stat)), startIn(string(stat))
		cgroup, _ := os.ReadFile(filepath.Join(path, "cgroup"))
		p.cgroup = string(cgroup)
		args := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		p.name, p.args = filepath.Base(args[0]), args[1:]
		p.program, _ = os.Readlink(filepath.Join(path, "exe"))
		p.program = strings.TrimSuffix(p.program, " (deleted)") // as after a refresh of the merged image
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b process) int { return cmp.Compare(a.id, b.id) })
	return all
}

// parentIn returns the ID of the parent in the text of pid/stat; 0 if it has none. The second
// field, the name of the program in brackets, may contain spaces and brackets.
func parentIn(stat string) int {
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// startIn returns how long after the boot the process was started, as the text of pid/stat has it in hundredths of a second;
// 0: that is not known.
func startIn(stat string) time.Duration {
	const field, name = 22, 2 // of the text, and of the name of the program
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < field-name {
		return 0
	}
	hundredths, _ := strconv.ParseInt(fields[field-name-1], 10, 64)
	return time.Duration(hundredths) * 10 * time.Millisecond
}

// sinceBoot returns how long ago the node booted (proc(5), uptime); 0: that is not known.
func sinceBoot(l host.Layout) time.Duration {
	text, _ := os.ReadFile(l.At("/proc/uptime"))
	first, _, _ := strings.Cut(string(text), " ")
	seconds, _ := strconv.ParseFloat(first, 64)
	return time.Duration(seconds * float64(time.Second))
}

// kubeletAmong returns the kubelet; nil if it does not run. It is the main process of
// kubelet.service, wherever that has moved itself: --kubelet-cgroups takes it out of its unit's
// control group. If a script or another program starts it, it is the process named kubelet below
// the main process.
//
// Where systemd has not told the main process, or it is not among the processes, the unit's
// control group decides. A pod may have a process of the same name.
func kubeletAmong(processes []process, main int) *process {
	for i, p := range processes {
		if main > 0 && p.id == main {
			return namedKubelet(processes, &processes[i])
		}
	}
	var found *process
	for i, p := range processes {
		ofUnit := strings.Contains(p.cgroup, "/kubelet.service")
		if ofUnit && (found == nil || p.name == "kubelet" && found.name != "kubelet") {
			found = &processes[i]
		}
	}
	return found
}

// namedKubelet returns the process named kubelet that is nearest below the main process, or the
// main process, if none is.
func namedKubelet(processes []process, main *process) *process {
	for level := []*process{main}; len(level) > 0; {
		var next []*process
		for _, p := range level {
			if p.name == "kubelet" {
				return p
			}
			for i, child := range processes {
				if child.parent == p.id && child.id != p.id {
					next = append(next, &processes[i])
				}
			}
		}
		level = next
	}
	return main
}
