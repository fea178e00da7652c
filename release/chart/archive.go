package main

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// write writes the chart to the folder out, and returns the archive's path.
func write(root, version, digest, out string) (string, error) {
	files, err := assemble(root, version, digest)
	if err != nil {
		return "", err
	}
	chart, err := loader.LoadFiles(files)
	if err != nil {
		return "", err
	}
	if err := chart.Validate(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(out, 0o750); err != nil {
		return "", err
	}
	path := filepath.Join(out, fmt.Sprintf("%s-%s.tgz", chart.Name(), chart.Metadata.Version))
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	return path, errors.Join(pack(file, chart.Name(), files), file.Close())
}

// pack writes the files as Helm's own archive has them, in the folder of the chart's name.
// Unlike it, it writes no time, so that the same files always give the same bytes.
func pack(w io.Writer, folder string, files []*archive.BufferedFile) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	packed := tar.NewWriter(compressed)
	byName := func(a, b *archive.BufferedFile) int { return cmp.Compare(a.Name, b.Name) }
	for _, file := range slices.SortedFunc(slices.Values(files), byName) {
		header := &tar.Header{Name: folder + "/" + file.Name, Mode: 0o644, Size: int64(len(file.Data)), ModTime: time.Unix(0, 0)}
		if err := packed.WriteHeader(header); err != nil {
			return err
		}
		if _, err := packed.Write(file.Data); err != nil {
			return err
		}
	}
	return errors.Join(packed.Close(), compressed.Close())
}
