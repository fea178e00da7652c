package node

import (
	"os"
	"path/filepath"
	"testing"
)

func TestUpdateEngineIsThereOnlyWhenAskedFor(t *testing.T) {
	s := spec(t)
	if m := create(t, s); exists(m, updateEngine) || exists(m, units+"multi-user.target.wants/update-engine.service") {
		t.Error("a node has an update_engine that nobody asked for")
	}
	s.UpdateEngine = filepath.Join(t.TempDir(), "engine")
	if err := os.WriteFile(s.UpdateEngine, []byte("program"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := create(t, s)
	info, err := os.Stat(filepath.Join(m.upper(), updateEngine))
	if err != nil || info.Mode().Perm() != 0o755 || m.read(t, updateEngine) != "program" {
		t.Errorf("mode %v, %v", info, err)
	}
	if !exists(m, units+"multi-user.target.wants/update-engine.service") || !exists(m, "/etc/dbus-1/system.d/com.coreos.update1.conf") {
		t.Error("its unit or its policy is missing")
	}
}

func exists(m *Machine, path string) bool {
	_, err := os.Lstat(filepath.Join(m.upper(), path))
	return err == nil
}
