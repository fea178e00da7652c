package nodefacts

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"

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
