package nodefacts

import (
	"golang.org/x/sys/unix"
)

const cgroupDir = "/sys/fs/cgroup"

// cgroup determines the version as the kubelet does: 2 if a cgroup2 file system is mounted
// at that path, otherwise 1 (opencontainers/cgroups, IsCgroup2UnifiedMode).
func (g *gatherer) cgroup() {
	var st unix.Statfs_t
	if err := unix.Statfs(g.At(cgroupDir), &st); err != nil {
		g.problem("reading the version of control groups at %s: %v", cgroupDir, err)
		return
	}
	g.facts.CgroupVersion = cgroupVersion(st.Type)
}

func cgroupVersion(fileSystem int64) int32 {
	if fileSystem == unix.CGROUP2_SUPER_MAGIC {
		return 2
	}
	return 1
}
