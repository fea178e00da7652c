package node

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// file is one entry of the machine's own layer. Exactly one of text, link
// (what a symlink says) and source (a file to copy) counts; dir is a folder.
type file struct {
	path   string
	mode   fs.FileMode // 0: 0644; of a link, none
	text   string
	link   string
	source string
	dir    bool
}

func (f file) write(target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	switch {
	case f.dir:
		return os.MkdirAll(target, 0o755)
	case f.link != "":
		return os.Symlink(f.link, target)
	case f.source != "":
		if err := copyFile(f.source, target); err != nil {
			return err
		}
		return os.Chmod(target, f.permissions())
	}
	return os.WriteFile(target, []byte(f.text), f.permissions())
}

func (f file) permissions() fs.FileMode {
	if f.mode == 0 {
		return 0o644
	}
	return f.mode
}

// copyFile makes a copy that shares nothing with its source: what happens to
// an image on a node must not reach the cache.
func copyFile(source, target string) error {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(target)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return fmt.Errorf("copying %s: %w", source, err)
	}
	return out.Close()
}
