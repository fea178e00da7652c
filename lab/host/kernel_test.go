package host

import (
	"os"
	"path/filepath"
	"testing"
)

func kernel(t *testing.T, values map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, value := range values {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(value+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestRestoreBringsBackWhatTheFirstTuneFound(t *testing.T) {
	root := kernel(t, map[string]string{"vm/overcommit_memory": "0", "kernel/panic": "7"})
	record := filepath.Join(t.TempDir(), "kernel.json")
	for range 2 { // the second is that of a resumed `up`
		if err := tune(root, record); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(filepath.Join(root, "vm/overcommit_memory")); string(got) != "1" {
		t.Errorf("overcommit_memory is %q after tune", got)
	}
	if _, err := os.Stat(filepath.Join(root, "fs")); !os.IsNotExist(err) {
		t.Error("tune made a setting that this kernel does not have")
	}
	if err := restore(root, record); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"vm/overcommit_memory": "0", "kernel/panic": "7"} {
		if got, _ := os.ReadFile(filepath.Join(root, name)); string(got) != want {
			t.Errorf("%s is %q after restore, want %q", name, got, want)
		}
	}
	if err := restore(root, record); err != nil {
		t.Errorf("restoring again: %v", err)
	}
}
