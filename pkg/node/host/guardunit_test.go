//go:build !integration

package host_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

const guardUnitPath = "/etc/systemd/system/" + host.GuardUnit

// TestGuardKeepsItsProgram checks that an armed guard does not run another version of the
// agent, which may have no guard, and that nothing is left after it.
func TestGuardKeepsItsProgram(t *testing.T) {
	l := newTree(t)
	write(t, l, host.Program(host.Root), "the version that armed it")
	if err := l.ArmGuard(host.Guard{From: "v1.34.3", To: "v1.34.10"}); err != nil {
		t.Fatal(err)
	}
	if err := host.WriteFile(l.At(host.Program(host.Root)), []byte("another version"), 0o755); err != nil {
		t.Fatal(err)
	}
	unit := read(t, l, guardUnitPath)
	exec := regexp.MustCompile(`(?m)^ExecStart=(\S+) guard$`).FindStringSubmatch(unit)
	if exec == nil || !strings.Contains(unit, "ConditionFileIsExecutable="+exec[1]+"\n") {
		t.Fatalf("the unit is\n%s", unit)
	}
	if program := read(t, l, exec[1]); program != "the version that armed it" {
		t.Errorf("the unit runs %q", program)
	}
	if err := l.DisarmGuard(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(l.At(host.Root, "bin", "*")); len(left) != 1 {
		t.Errorf("%q is left", left)
	}
}

// TestMaskedGuard checks that a unit that an administrator has masked stays masked, and that
// nothing is armed without it.
func TestMaskedGuard(t *testing.T) {
	for _, mask := range []string{guardUnitPath, "/run/systemd/system/" + host.GuardUnit} {
		l := newTree(t)
		write(t, l, host.Program(host.Root), "program")
		if err := os.MkdirAll(filepath.Dir(l.At(mask)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/dev/null", l.At(mask)); err != nil {
			t.Fatal(err)
		}
		err := l.ArmGuard(host.Guard{From: "v1.34.3", To: "v1.34.10"})
		if err == nil || !strings.Contains(err.Error(), "systemctl unmask "+host.GuardUnit) {
			t.Errorf("%s: got %v, want an error with the command that unmasks it", mask, err)
		}
		if armed, err := l.GuardArmed(); armed || err != nil {
			t.Errorf("%s: the guard is armed (%v)", mask, err)
		}
		if _, err := os.Stat(l.At(host.StateDir(host.Root), ".kubectl-upgrade-reserve")); err == nil {
			t.Errorf("%s: disk space is reserved", mask)
		}
		for range 2 {
			if target, _ := os.Readlink(l.At(mask)); target != "/dev/null" {
				t.Errorf("%s points to %q", mask, target)
			}
			if err := l.DisarmGuard(); err != nil {
				t.Error(err)
			}
		}
	}
}
