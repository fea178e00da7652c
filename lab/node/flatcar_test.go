package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnImageForFlatcarFitsANode(t *testing.T) {
	s := spec(t)
	s.Base = "trixie"
	release := create(t, s).read(t, "/usr/lib/os-release")
	for _, line := range []string{"ID=flatcar", "SYSEXT_LEVEL=1.0", "VERSION_ID=9999.0.0", "BUILD_ID=lab"} {
		if !strings.Contains(release, "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, release)
		}
	}
	if !strings.Contains(release, "Debian trixie") {
		t.Errorf("the base is not in\n%s", release)
	}
}

func TestLocksmithdIsMaskedExceptOnPlainFlatcar(t *testing.T) {
	for _, auto := range []bool{false, true} {
		s := spec(t)
		s.AutoUpdate = auto
		m := create(t, s)
		if !exists(m, systemd+"locksmithd.service") || !exists(m, systemd+"multi-user.target.wants/locksmithd.service") {
			t.Error("there is no locksmithd, or nothing starts it")
		}
		if link, _ := os.Readlink(m.disk(units + "locksmithd.service")); (link == "/dev/null") == auto {
			t.Errorf("AutoUpdate %v: locksmithd is linked to %q", auto, link)
		}
	}
}

func TestWhatANodeChangesInEtcHasADiskOfItsOwn(t *testing.T) {
	m := create(t, spec(t))
	for path, want := range map[string]string{
		"/etc/machine-id": "etc/machine-id", "/opt/extensions/x": "upper/opt/extensions/x", "/etcetera": "upper/etcetera",
	} {
		if got := m.disk(path); got != filepath.Join(m.Dir, want) {
			t.Errorf("%s is at %s, want %s in %s", path, got, want, m.Dir)
		}
	}
	if left, err := os.ReadDir(filepath.Join(m.upper(), "etc")); err == nil {
		t.Errorf("the overlay hides %v", left)
	}
}
