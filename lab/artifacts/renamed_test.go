package artifacts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRename(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "kubelet"), filepath.Join(dir, "renamed")
	if err := os.WriteFile(from, []byte("\x00v1.34.4\x00 x@v1.34.4/y v1.34.3"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := rename(from, to, "v1.34.4", "v1.34.5"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if want := "\x00v1.34.5\x00 x@v1.34.5/y v1.34.3"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("it cannot be run: %v, %v", info, err)
	}
	if err := rename(from, to, "v1.35.0", "v1.35.1"); err == nil {
		t.Error("got no error for a program that does not contain the version")
	}
}

func TestRenamedRefuses(t *testing.T) {
	c, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{"1.34.10": "different lengths", "v1.34.5": "not a Kubernetes version"} {
		if _, err := c.Renamed(t.Context(), "1.34.4", version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", version, err, want)
		}
	}
}
