package node

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// mountDisks puts the machine's file systems together as Flatcar has them before systemd
// starts: /usr can be read only, and /etc is an overlay, a file system of its own.
func (m *Machine) mountDisks() error {
	if err := overlay(m.root(), m.Spec.Rootfs, m.upper(), m.work()); err != nil {
		return fmt.Errorf("mounting the root file system: %w", err)
	}
	if err := overlay(filepath.Join(m.root(), "etc"), filepath.Join(m.Spec.Rootfs, "etc"), m.etc(), m.etcWork()); err != nil {
		return fmt.Errorf("mounting /etc: %w", err)
	}
	usr := filepath.Join(m.root(), "usr")
	if err := unix.Mount(usr, usr, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting /usr: %w", err)
	}
	if err := unix.Mount("", usr, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("making /usr read-only: %w", err)
	}
	return nil
}

// overlay mounts an overlay. It is busy while the mounts of the last run end.
func overlay(target, lower, upper, work string) error {
	layers := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work)
	deadline := time.Now().Add(timelimit.Scale(5 * time.Second))
	for {
		err := unix.Mount("overlay", target, "overlay", 0, layers)
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}
