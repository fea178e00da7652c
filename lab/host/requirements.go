// Package host is the machine that a lab runs on: what the lab requires of it, and
// what the lab changes on it. Every change is recorded before it is made, so that
// it can always be undone.
package host

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cgroup"
)

// program is one that the lab calls, and the Debian package that has it.
type program struct{ name, pkg string }

var programs = []program{
	{"systemd-nspawn", "systemd-container"},
	{"journalctl", "systemd"},
	{"mmdebstrap", "mmdebstrap"},
	{"mksquashfs", "squashfs-tools"},
	{"ip", "iproute2"},
	{"nsenter", "util-linux"},
}

// Require checks that this machine can run a lab. The error is one line that says
// what to do.
func Require() error {
	for _, one := range requirements {
		if err := one.check(thisMachine()); err != nil {
			return err
		}
	}
	if err := requirePrograms(exec.LookPath); err != nil {
		return err
	}
	_, err := cgroup.Detect()
	return err
}

// RequireGo returns an error unless this machine can build Kubernetes.
func RequireGo() error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("missing go, which builds Kubernetes: see https://go.dev/doc/install")
	}
	return nil
}

// RequireRoot returns an error unless the user is root.
func RequireRoot() error { return root.check(thisMachine()) }

func requirePrograms(lookPath func(string) (string, error)) error {
	var names, packages []string
	for _, program := range programs {
		if _, err := lookPath(program.name); err != nil {
			names, packages = append(names, program.name), append(packages, program.pkg)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("missing %s: apt-get install %s", strings.Join(names, ", "), strings.Join(packages, " "))
}

// gib is a gibibyte, in bytes.
const gib = 1 << 30

// RequireDisk checks that dir, which must exist, has that many GiB free.
func RequireDisk(dir string, need uint64) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return fmt.Errorf("reading the free space of %s: %w", dir, err)
	}
	if free := disk.Bavail * uint64(disk.Bsize) / gib; free < need { //nolint:gosec // a block has a size
		return fmt.Errorf("%s has %d GiB free, and a lab needs %d: free some, or choose other folders with LAB_STATE and LAB_CACHE", dir, free, need)
	}
	return nil
}
