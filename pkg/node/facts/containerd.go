package facts

import (
	"cmp"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"
)

// containerdRoot returns the folder in which containerd keeps images, according to its
// unit's command line, or to its configuration.
func (g *gatherer) containerdRoot() string {
	const usual, usualConfig = "/var/lib/containerd", "/etc/containerd/config.toml"
	flags := g.flagsOf(g.service("containerd.service"), "")
	if root := flags.value("root"); root != "" {
		return root
	}
	return cmp.Or(g.rootIn(cmp.Or(flags.value("config", "c"), usualConfig)), usual)
}

// mostImports is how many files of containerd's configuration are read.
const mostImports = 100

// rootIn returns the field root of containerd's configuration; empty if it has none. The files
// that it imports are read after it, theirs after them, and the last that has the field prevails
// (LoadConfig in cmd/containerd/server/config, 2.2). Versions 2 and 3 have the field at the top.
func (g *gatherer) rootIn(path string) (root string) {
	read := map[string]bool{}
	for pending := []string{path}; len(pending) > 0 && len(read) < mostImports; {
		path, pending = pending[0], pending[1:]
		if read[path] {
			continue
		}
		read[path] = true
		var config struct {
			Root    string
			Imports []string
		}
		if err := toml.Unmarshal(g.readIfThere(path), &config); err != nil {
			g.problem("decoding %s: %v", path, err)
			continue
		}
		root = cmp.Or(config.Root, root)
		for _, pattern := range config.Imports {
			pending = append(pending, g.matching(filepath.Dir(path), pattern)...)
		}
	}
	return root
}

// matching returns the files that match a pattern, which may be relative to a folder.
func (g *gatherer) matching(dir, pattern string) []string {
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(dir, pattern)
	}
	found, _ := filepath.Glob(g.At(pattern))
	var paths []string
	for _, path := range found {
		if below, err := filepath.Rel(g.Dir, path); err == nil {
			paths = append(paths, "/"+below)
		}
	}
	return paths
}
