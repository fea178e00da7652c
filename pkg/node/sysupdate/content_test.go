//go:build !integration

package sysupdate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// TestFilesOfAnImage checks that a file of an image is read only as far as it can be of use, and
// that nothing waits for what is no file.
func TestFilesOfAnImage(t *testing.T) {
	const version, release = "usr/local/share/kubernetes-version", extensionRelease
	image, err := host.NewImage("v1.34.4", host.Architecture())
	if err != nil {
		t.Fatal(err)
	}
	put := func(path, text string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644) }
	}
	instead := func(path string, make func(path string) error) func(string) error {
		return func(dir string) error {
			path := filepath.Join(dir, path)
			return errors.Join(os.Remove(path), make(path))
		}
	}
	fifo := func(path string) error { return unix.Mkfifo(path, 0o644) }
	device := func(path string) error { return os.Symlink("/dev/zero", path) }
	huge := func(path string) error {
		return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 1<<20))
	}
	for name, test := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"as it should be":        {put(version, "v1.34.4\n"), ""},
		"another version":        {put(version, strings.Repeat("9", 1000)), `its kubernetes-version is "` + strings.Repeat("9", 80) + `"`},
		"another architecture":   {put(release, "ARCHITECTURE="+strings.Repeat("s", 1000)), `it is for the architecture "` + strings.Repeat("s", 80) + `"`},
		"a version of a MiB":     {instead(version, huge), "its " + version + " is longer than 4 KiB"},
		"a release of a MiB":     {instead(release, huge), "its " + release + " is longer than 4 KiB"},
		"a version never said":   {instead(version, fifo), "its " + version + " is not a file"},
		"a release never said":   {instead(release, fifo), "its " + release + " is not a file"},
		"a version without end":  {instead(version, device), "its " + version + " is not a file"},
		"a kubelet that is none": {instead("usr/bin/kubelet", fifo), "its usr/bin/kubelet is not a file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for path, text := range map[string]string{version: "v1.34.4\n", release: "ID=_any\n", "usr/bin/kubelet": "", "usr/bin/kubeadm": ""} {
				if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755), put(path, text)(dir)); err != nil {
					t.Fatal(err)
				}
			}
			if err := test.change(dir); err != nil {
				t.Fatal(err)
			}
			ask := func(_ context.Context, program string, _ ...string) (string, error) {
				return map[string]string{"usr/bin/kubelet": "Kubernetes v1.34.4", "usr/bin/kubeadm": "v1.34.4"}[program], nil
			}
			err := VerifyTree(t.Context(), dir, image, ask)
			if test.want == "" && err != nil || test.want != "" && (host.ReasonOf(err, "") != v1alpha1.ReasonContentMismatch || !strings.HasSuffix(err.Error(), ": "+test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
