//go:build !integration

package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

const bootID = "5e1f0d7e-0000-4000-8000-000000000001"

// newTree returns the file tree of a control-plane node after a CAPZ bootstrap.
func newTree(t *testing.T) host.Layout {
	t.Helper()
	l := host.Layout{Dir: t.TempDir()}
	arch := host.Architecture()
	write(t, l, "/proc/sys/kernel/random/boot_id", bootID+"\n")
	write(t, l, host.MergedVersionFile, "v1.34.3\n")
	write(t, l, host.Sysupdate, "")
	for _, v := range []string{"v1.34.10", "v1.34.3"} {
		write(t, l, host.ImagePath(v, arch), v)
	}
	write(t, l, host.ImagesDir+"/.#sysupdate"+image.Name("v1.34.4", arch)+"0123", "partial")
	write(t, l, host.ImagePath("v1.34", arch), "another name")
	write(t, l, host.ManifestsDir+"/.keep", "")
	point(t, l, "../.."+host.ImagePath("v1.34.3", arch))
	return l
}

func write(t *testing.T, l host.Layout, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(l.At(path)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.At(path), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, l host.Layout, path string) string {
	t.Helper()
	data, err := os.ReadFile(l.At(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// unlink removes the symlink.
func unlink(t *testing.T, l host.Layout) {
	t.Helper()
	if err := os.Remove(l.At(host.Link)); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

func point(t *testing.T, l host.Layout, target string) {
	t.Helper()
	link := l.At(host.Link)
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	unlink(t, l)
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
}
