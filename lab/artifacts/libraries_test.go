package artifacts

import (
	"maps"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLibraries looks at this machine, which is Debian as the nodes are.
func TestLibraries(t *testing.T) {
	here := debianLibraries[runtime.GOARCH]
	files := map[string]string{"/bin/env": "/usr/bin/env"}
	if err := here.addTo(files, "/"); err != nil {
		t.Fatal(err)
	}
	libc := filepath.Join(here.dir, "libc.so.6")
	for _, want := range []string{"/bin/env", libc, here.loader} {
		if files[want] == "" {
			t.Errorf("%s is missing", want)
		}
	}
	again := maps.Clone(files)
	if err := here.addTo(again, "/"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files, again); diff != "" {
		t.Errorf("the libraries of libraries were not all there (-once +twice):\n%s", diff)
	}
	if err := here.addTo(map[string]string{"/x": "/etc/os-release"}, "/"); err == nil {
		t.Error("no error for a file that is no program")
	}
}
