package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ExtensionDirs are the folders in which systemd-sysext looks, the first prevails (systemd-sysext(8)).
var ExtensionDirs = []string{"/etc/extensions", "/run/extensions", "/var/lib/extensions", "/usr/local/lib/extensions", "/usr/lib/extensions"}

const releaseDir = "/usr/lib/extension-release.d"

// MergedExtensions returns the names of the system extensions that are merged, sorted.
func (l Layout) MergedExtensions() (names []string) {
	releases, _ := filepath.Glob(l.At(releaseDir, "extension-release.*"))
	for _, path := range releases {
		names = append(names, strings.TrimPrefix(filepath.Base(path), "extension-release."))
	}
	slices.Sort(names)
	return names
}

// otherExtensions returns the system extensions beside that of Kubernetes that are merged, and those that have a file or
// folder and are not. A person masks one by a link to /dev/null.
func (l Layout) otherExtensions() (merged, unmerged []string) {
	ours := strings.TrimSuffix(filepath.Base(Link), ".raw")
	all := l.MergedExtensions()
	merged = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == ours })
	masked := map[string]bool{ours: true}
	for _, dir := range ExtensionDirs {
		entries, _ := os.ReadDir(l.At(dir))
		for _, entry := range entries {
			name := strings.TrimSuffix(strings.TrimSuffix(entry.Name(), ".v"), ".raw")
			target, _ := os.Readlink(l.At(dir, entry.Name()))
			masked[name] = masked[name] || target == os.DevNull && !slices.Contains(unmerged, name)
			if !masked[name] && !slices.Contains(all, name) {
				unmerged = append(unmerged, name)
			}
		}
	}
	slices.Sort(unmerged)
	return merged, slices.Compact(unmerged)
}
