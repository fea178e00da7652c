package program

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// heapShare is the part of a container's memory, in percent, that Go's own may take before garbage is
// collected without pause: the rest is for the stacks of threads, mapped files, and child processes.
const heapShare = 80

// SetMemoryLimit has garbage collected in time where the memory of this process is limited, by its
// container or by the unit of systemd that it runs in, unless the environment has GOMEMLIMIT.
func SetMemoryLimit() {
	if limit := memoryLimit(os.DirFS("/")); limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 100 * heapShare)
	}
}

// memoryLimit returns the smallest limit of the control groups (version 2) that this process is in; zero:
// there is none, or it cannot be read. A container sees its own group as the first one, unless it is
// privileged.
// https://docs.kernel.org/admin-guide/cgroup-v2.html
func memoryLimit(root fs.FS) int64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	limit := int64(math.MaxInt64)
	for line := range strings.Lines(string(groups)) {
		group, found := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		for found {
			text, err := fs.ReadFile(root, path.Join("sys/fs/cgroup", group, "memory.max"))
			if bytes, wrong := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && wrong == nil { // else it is "max"
				limit = min(limit, bytes)
			}
			if group == "" || group == "." {
				break
			}
			group = path.Dir(group)
		}
	}
	if limit == math.MaxInt64 {
		return 0
	}
	return limit
}
