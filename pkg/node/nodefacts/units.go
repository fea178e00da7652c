package nodefacts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unitDirs are the folders from which systemd loads units; the first that has the file
// prevails (systemd.unit(5)). Folders that only programs write to are omitted.
var unitDirs = []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system"}

// unit is a unit's files.
type unit struct {
	// fragment is the unit's own file. Empty: there is none.
	fragment string
	masked   bool
	// dropIns are in the order in which systemd reads them.
	dropIns []string
}

func (g *gatherer) unit(name string) unit {
	var u unit
	for _, dir := range unitDirs {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(g.At(path)); err == nil {
			u.fragment, u.masked = path, g.isNull(path)
			break
		}
	}
	u.dropIns = g.dropIns(name)
	return u
}

// dropIns returns the drop-ins of a unit, sorted by file name. Of those with the same name,
// only the one in the first folder counts.
func (g *gatherer) dropIns(unit string) []string {
	paths := map[string]string{}
	for _, dir := range unitDirs {
		dir = filepath.Join(dir, unit+".d")
		for _, name := range g.list(dir) {
			if _, there := paths[name]; !there && strings.HasSuffix(name, ".conf") {
				paths[name] = filepath.Join(dir, name)
			}
		}
	}
	names := make([]string, 0, len(paths))
	for name, path := range paths {
		if !g.isNull(path) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = paths[name]
	}
	return names
}

// isNull reports whether a file is empty or a link to /dev/null, which masks a unit or
// drop-in.
func (g *gatherer) isNull(path string) bool {
	if target, err := os.Readlink(g.At(path)); err == nil {
		return target == os.DevNull
	}
	info, err := os.Lstat(g.At(path))
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// wanted reports whether another unit pulls this one in by a link: in /etc if it was
// enabled, in /usr if the operating system's image has the link (as Flatcar's does).
func (g *gatherer) wanted(unit string) bool {
	for _, dir := range unitDirs {
		for _, kind := range []string{"wants", "requires"} {
			links, _ := filepath.Glob(g.At(dir, "*."+kind, unit))
			if len(links) > 0 {
				return true
			}
		}
	}
	return false
}
