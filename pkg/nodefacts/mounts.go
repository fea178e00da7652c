package nodefacts

import (
	"slices"
	"strings"
)

// mountsFile shows the node's own mounts. A verb's unit has a mount namespace
// of its own, and with it other ones.
const mountsFile = "/proc/1/mountinfo"

// hierarchies are what systemd-sysext merges into, unless told otherwise.
var hierarchies = []string{"/usr", "/opt"}

func (g *gatherer) mounts() {
	data, err := g.read(mountsFile)
	if err != nil {
		g.problem("%v", err)
		return
	}
	g.facts.RefreshBlockers = refreshBlockers(parseMounts(string(data)))
}

type mount struct{ id, parent, point string }

// refreshBlockers are the mounts below /usr and /opt that somebody can see. A
// refresh takes the merged file system away and puts another one there, and
// with it what is mounted below: up to systemd 256 such a mount is lost, from
// 257 on it is carried over, but not one within another (systemd#31922,
// #34381, #41875), and in between it is away. The merged file system itself
// lies at /usr and not below it.
func refreshBlockers(mounts []mount) []string {
	var points []string
	for _, m := range mounts {
		below := slices.ContainsFunc(hierarchies, func(h string) bool { return isBelow(m.point, h) && !isBelow(m.point+"/", h+"/.systemd-sysext") })
		if below && !hidden(mounts, m) {
			points = append(points, m.point)
		}
	}
	slices.Sort(points)
	return slices.Compact(points)
}

// hidden is true for what lies under another mount: whoever mounts /usr hides
// what was mounted below it before.
func hidden(mounts []mount, m mount) bool {
	for _, other := range mounts {
		switch {
		case other.id == m.parent:
			if other.parent != other.id && hidden(mounts, other) {
				return true
			}
		case other.parent == m.parent && isBelow(m.point, other.point):
			return true
		}
	}
	return false
}

func isBelow(path, dir string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") && path != dir
}

// unescape undoes how the kernel writes white space and backslashes
// (proc_pid_mountinfo(5)).
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func parseMounts(text string) []mount {
	var mounts []mount
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) > 4 {
			mounts = append(mounts, mount{id: fields[0], parent: fields[1], point: unescape.Replace(fields[4])})
		}
	}
	return mounts
}
