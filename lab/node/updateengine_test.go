package node

import (
	"os"
	"path/filepath"
	"testing"
)

func TestUpdateEngineIsThereOnlyWhenAskedFor(t *testing.T) {
	s := spec(t)
	m := create(t, s)
	if exists(m, updateEngine) || exists(m, systemd+updateEngineService) {
		t.Error("a node has an update_engine that nobody asked for")
	}
	if link, err := os.Readlink(m.disk(units + updateEngineService)); link != "/dev/null" {
		t.Errorf("it is not masked: %q, %v", link, err)
	}
	s.UpdateEngine = filepath.Join(t.TempDir(), "engine")
	if err := os.WriteFile(s.UpdateEngine, []byte("program"), 0o644); err != nil {
		t.Fatal(err)
	}
	m = create(t, s)
	info, err := os.Stat(m.disk(updateEngine))
	if err != nil || info.Mode().Perm() != 0o755 || m.read(t, updateEngine) != "program" {
		t.Errorf("mode %v, %v", info, err)
	}
	if !exists(m, systemd+"multi-user.target.wants/"+updateEngineService) || exists(m, units+updateEngineService) || !exists(m, "/etc/dbus-1/system.d/com.coreos.update1.conf") {
		t.Error("its unit or its policy is missing")
	}
}

func exists(m *Machine, path string) bool {
	_, err := os.Lstat(m.disk(path))
	return err == nil
}
