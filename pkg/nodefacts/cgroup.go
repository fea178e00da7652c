package nodefacts

import (
	"golang.org/x/sys/unix"
)

const cgroupDir = "/sys/fs/cgroup"

// cgroup decides as the kubelet does: version 2 is what a cgroup2 file system
// at that very place says, anything else is version 1 (opencontainers/cgroups,
// IsCgroup2UnifiedMode).
func (g *gatherer) cgroup() {
	var st unix.Statfs_t
	if err := unix.Statfs(g.At(cgroupDir), &st); err != nil {
		g.problem("looking for the version of control groups at %s: %v", cgroupDir, err)
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
