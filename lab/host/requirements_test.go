package host

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestMissingProgramsSayHowToGetThem(t *testing.T) {
	missing := func(names ...string) func(string) (string, error) {
		return func(name string) (string, error) {
			if slices.Contains(names, name) {
				return "", errors.New("not found")
			}
			return "/usr/bin/" + name, nil
		}
	}
	if err := requirePrograms(missing()); err != nil {
		t.Errorf("nothing is missing: %v", err)
	}
	err := requirePrograms(missing("systemd-nspawn", "mksquashfs"))
	want := "missing systemd-nspawn, mksquashfs: apt-get install systemd-container squashfs-tools"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestTooLittleDiskNamesTheFolder(t *testing.T) {
	dir := t.TempDir()
	if err := RequireDisk(dir, 0); err != nil {
		t.Error(err)
	}
	err := RequireDisk(dir, 1<<40)
	if err == nil || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line with %s", err, dir)
	}
}
