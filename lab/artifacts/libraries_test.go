package artifacts

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWithLibraries looks at this machine, which is Debian as the nodes are.
func TestWithLibraries(t *testing.T) {
	files := map[string]string{"/bin/env": "/usr/bin/env"}
	if err := withLibraries(files, "/"); err != nil {
		t.Fatal(err)
	}
	libc := filepath.Join(libraryDir, "libc.so.6")
	for _, want := range []string{"/bin/env", libc, loader} {
		if files[want] == "" {
			t.Errorf("%s is missing", want)
		}
	}
	again := maps.Clone(files)
	if err := withLibraries(again, "/"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files, again); diff != "" {
		t.Errorf("the libraries of libraries were not all there (-once +twice):\n%s", diff)
	}
	if err := withLibraries(map[string]string{"/x": "/etc/os-release"}, "/"); err == nil {
		t.Error("no error for a file that is no program")
	}
}
