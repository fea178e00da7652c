package image

import (
	"archive/tar"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"time"
)

// WriteLayer writes the files as a tar archive that depends on nothing but
// their paths, contents and executable bits. files is as for BuildImage.
func WriteLayer(out string, files map[string]string) error {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer f.Close()
	w := layerWriter{tar: tar.NewWriter(f), made: map[string]bool{"/": true}}
	if err := w.folder("/tmp", 0o1777); err != nil {
		return err
	}
	for _, destination := range slices.Sorted(maps.Keys(files)) {
		if !path.IsAbs(destination) || path.Clean(destination) != destination {
			return fmt.Errorf("%q is not a clean absolute path", destination)
		}
		if err := w.file(destination, files[destination]); err != nil {
			return err
		}
	}
	if err := w.tar.Close(); err != nil {
		return err
	}
	return f.Close()
}

type layerWriter struct {
	tar  *tar.Writer
	made map[string]bool
}

func (w *layerWriter) folder(name string, mode int64) error {
	if w.made[name] {
		return nil
	}
	if err := w.folder(path.Dir(name), 0o755); err != nil {
		return err
	}
	w.made[name] = true
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name[1:] + "/", Mode: mode, ModTime: time.Unix(0, 0)})
}

func (w *layerWriter) file(destination, source string) error {
	if err := w.folder(path.Dir(destination), 0o755); err != nil {
		return err
	}
	f, err := os.Open(source)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", source)
	}
	mode := int64(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: destination[1:], Mode: mode, Size: info.Size(), ModTime: time.Unix(0, 0)}
	if err := w.tar.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(w.tar, f)
	return err
}
