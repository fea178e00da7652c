package artifacts

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
)

// libraries are where Debian has an architecture's shared libraries, and where its
// programs look for what loads them.
type libraries struct{ dir, loader string }

var debianLibraries = map[string]libraries{
	"amd64": {"/usr/lib/x86_64-linux-gnu", "/lib64/ld-linux-x86-64.so.2"},
	"arm64": {"/usr/lib/aarch64-linux-gnu", "/lib/ld-linux-aarch64.so.1"},
}

// addTo adds to files (paths in an image to files of this machine) the shared
// libraries that they need, taken from the Debian root file system root, and the
// loader.
func (l libraries) addTo(files map[string]string, root string) error {
	queue := make([]string, 0, len(files))
	for _, source := range files {
		queue = append(queue, source)
	}
	for len(queue) > 0 {
		source := queue[0]
		queue = queue[1:]
		needed, err := neededLibraries(source)
		if err != nil {
			return fmt.Errorf("finding the libraries of %s: %w", source, err)
		}
		for _, library := range needed {
			target := filepath.Join(l.dir, library)
			if _, known := files[target]; known {
				continue
			}
			files[target] = filepath.Join(root, target)
			queue = append(queue, files[target])
		}
	}
	files[l.loader] = filepath.Join(root, "usr", l.loader)
	return nil
}

// neededLibraries is empty for a file that is statically linked.
func neededLibraries(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	object, err := elf.NewFile(f)
	if err != nil {
		return nil, err
	}
	return object.ImportedLibraries()
}
