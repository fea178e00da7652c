package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// mountsFile lists the node's mounts. A verb's unit has a mount namespace of its own, with
// other mounts.
const mountsFile = "/proc/1/mountinfo"

// hierarchies are the folders that systemd-sysext merges into by default.
var hierarchies = []string{"/usr", "/opt"}

func (g *gatherer) mounts() {
	blockers, err := RefreshBlockers(g.Layout)
	if err != nil {
		g.problem("%v", err)
	}
	g.facts.RefreshBlockers = blockers
}

// RefreshBlockers returns the mounts below /usr and /opt that `systemd-sysext refresh` would
// break, sorted. A refresh replaces the merged file system. Up to systemd 256, mounts below
// it are lost. From 257 on they are moved to the new one, but they are missing meanwhile;
// and with a mount inside another mount 257 crashes: the old image stays merged, and the
// mounts are lost (measured; systemd#31922, #34381, #41875). The merged file system itself
// is mounted at /usr, not below it.
//
// The facts may be minutes old, so call it again right before a refresh.
func RefreshBlockers(l host.Layout) ([]string, error) {
	file, err := os.Open(l.At(mountsFile))
	if err != nil {
		return nil, fmt.Errorf("reading the node's mounts from %s: %w", mountsFile, cause(err))
	}
	defer func() { _ = file.Close() }()
	mounts, err := mountinfo.GetMountsFromReader(file, nil)
	if err != nil {
		return nil, fmt.Errorf("reading the node's mounts from %s: %w", mountsFile, cause(err))
	}
	return refreshBlockers(mounts), nil
}

// refreshBlockers leaves out mounts that are hidden by another mount, because systemd
// does not touch them.
func refreshBlockers(mounts []*mountinfo.Info) []string {
	var points []string
	for _, m := range mounts {
		below := slices.ContainsFunc(hierarchies, func(h string) bool {
			return isBelow(m.Mountpoint, h) && !isBelow(m.Mountpoint+"/", h+"/.systemd-sysext")
		})
		if below && !hidden(mounts, m) {
			points = append(points, m.Mountpoint)
		}
	}
	slices.Sort(points)
	return slices.Compact(points)
}

// hidden reports whether another mount covers m: a mount at /usr, for example, hides
// those that were made below it before.
func hidden(mounts []*mountinfo.Info, m *mountinfo.Info) bool {
	for _, other := range mounts {
		switch {
		case other.ID == m.Parent:
			if other.Parent != other.ID && hidden(mounts, other) {
				return true
			}
		case other.Parent == m.Parent && isBelow(m.Mountpoint, other.Mountpoint):
			return true
		}
	}
	return false
}

func isBelow(path, dir string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") && path != dir
}

// disks collects the free space of the folders that an upgrade writes to: images, kubeadm's
// manifests and backups, container images, and etcd's snapshots; and of etcd's data. It omits
// those that do not exist, except the snapshots', which the first snapshot creates.
func (g *gatherer) disks() {
	for _, dir := range []string{
		host.ImagesDir, filepath.Dir(host.KubernetesTmpDir), g.containerdRoot(), g.etcdData(), host.SnapshotsDir,
	} {
		there := dir
		free, err := g.FreeBytes(there)
		for dir == host.SnapshotsDir && errors.Is(err, fs.ErrNotExist) && there != "/" {
			there = filepath.Dir(there)
			free, err = g.FreeBytes(there)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			g.problem("reading the free space in %s: %v", dir, cause(err))
			continue
		}
		g.facts.Disks = append(g.facts.Disks, v1alpha1.DiskFacts{Path: dir, FreeBytes: free, Device: g.device(there)})
	}
}

// etcdData returns the folder of etcd's data on this node, as its manifest says: the folder
// member in --data-dir, by whose name checks tell it from the folder of container images.
func (g *gatherer) etcdData() string {
	dir := host.EtcdDataDir
	if pod, err := g.own.StaticPod("etcd"); err == nil && pod != nil && pod.Flag("data-dir") != "" {
		dir = pod.OnNode(pod.Flag("data-dir"))
	}
	return filepath.Join(dir, "member")
}

// device returns the device of a folder's file system; empty if it is not known.
func (g *gatherer) device(dir string) string {
	var st unix.Stat_t
	if err := unix.Stat(g.At(dir), &st); err != nil {
		g.problem("reading the file system of %s: %v", dir, err)
		return ""
	}
	return fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
}

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

// Names of systemd-sysupdate's timer and service. Up to systemd 261 they have the first;
// since 262 that is an alias of the second, and a mask of an alias masks nothing.
const (
	sysupdateUnit   = "systemd-sysupdate"
	sysupdateUpdate = "systemd-sysupdate-update"
)

// foreignUpdates collects what else may fetch images on the node, merge them or reboot it:
// the units of systemd-sysupdate, and locksmithd.
func (g *gatherer) foreignUpdates() {
	for _, name := range []string{sysupdateUnit, sysupdateUpdate} {
		for _, suffix := range []string{".service", ".timer"} {
			for _, path := range g.dropIns(name + suffix) {
				if !strings.HasPrefix(path, "/usr/lib/") { // the operating system's own
					g.facts.SysupdateTimerDropIns = append(g.facts.SysupdateTimerDropIns, path)
				}
			}
		}
	}
	slices.Sort(g.facts.SysupdateTimerDropIns)
	const timer = sysupdateUpdate + ".timer"
	if g.unit(sysupdateUnit+".timer").masked && g.unitState(timer) == "enabled" {
		g.facts.SysupdateTimerUnmasked = timer
	}
	g.facts.SysextRefreshSocket = g.unitState("systemd-sysupdate-notify-sysext.socket")
	g.facts.Locksmithd = g.unitState("locksmithd.service")
}

// unitState returns masked, enabled or disabled, or an empty string if there is no such
// unit. A unit that a link below /usr starts, as Flatcar's own, is enabled; systemctl
// is-enabled calls it disabled.
func (g *gatherer) unitState(name string) string {
	u := g.unit(name)
	switch {
	case u.fragment == "":
		return ""
	case u.masked:
		return "masked"
	case g.wanted(name):
		return "enabled"
	default:
		return "disabled"
	}
}
