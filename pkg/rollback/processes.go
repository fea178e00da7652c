package rollback

import (
	"os"
	"path/filepath"
	"strings"
)

// process is a process of the node.
type process struct {
	name   string
	args   []string
	cgroup string
}

// inService reports whether the process belongs to a unit of systemd. A pod may have a
// process of the same name.
func (p process) inService(unit string) bool { return strings.Contains(p.cgroup, "/"+unit) }

// processes returns the processes that run (proc(5), pid/cmdline and pid/cgroup).
func (c *checker) processes() []process {
	var all []process
	paths, _ := filepath.Glob(c.At("/proc/[0-9]*"))
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(path, "cmdline"))
		if err != nil || len(text) == 0 {
			continue // it has ended, or is a thread of the kernel
		}
		cgroup, _ := os.ReadFile(filepath.Join(path, "cgroup"))
		args := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		all = append(all, process{name: filepath.Base(args[0]), args: args[1:], cgroup: string(cgroup)})
	}
	return all
}
