package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cgroup"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/process"
)

// Supervise runs the machine until it powers itself off or the context ends,
// which cuts its power; a reboot inside only starts it again. It has to be
// called in a session and a mount namespace of its own, as Start does.
func (m *Machine) Supervise(ctx context.Context) error {
	if err := m.supervise(ctx); err != nil {
		return fmt.Errorf("running node %s: %w", m.Spec.Name, err)
	}
	return nil
}

func (m *Machine) supervise(ctx context.Context) error {
	if private, err := ownMounts(); err != nil || !private {
		return errors.Join(err, errors.New("this process shares its mounts: nodes are started with `lab start`"))
	}
	unlock, err := m.lock()
	if err != nil {
		return err
	}
	defer unlock()
	self, err := process.Of(os.Getpid())
	if err != nil {
		return err
	}
	if err := process.Save(m.supervisorRecord(), self); err != nil {
		return err
	}
	groups, err := cgroup.Of(m.Spec.Name)
	if err != nil {
		return err
	}
	if err := m.mount(); err != nil {
		return err
	}
	for {
		if err := groups.Renew(); err != nil {
			return err
		}
		again, err := m.boot(ctx, groups)
		if err != nil || !again || ctx.Err() != nil {
			return err
		}
	}
}

// boot runs the machine from power-on to power-off or reboot.
func (m *Machine) boot(ctx context.Context, groups cgroup.Groups) (again bool, err error) {
	// The parent-death signal below belongs to the thread that starts nspawn.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Its power is cut in attend, where its first process is known.
	cmd := m.nspawn(context.WithoutCancel(ctx), groups.Version)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// With the supervisor the machine goes, however the supervisor went.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	joined, err := groups.Join(cmd)
	if err != nil {
		return false, err
	}
	fmt.Printf("--- %s %s: power on\n", time.Now().UTC().Format(time.RFC3339), m.Spec.Name)
	err = cmd.Start()
	joined()
	if err != nil {
		return false, fmt.Errorf("starting systemd-nspawn: %w", err)
	}
	ended, stop := context.WithCancel(context.Background())
	defer stop()
	go m.attend(ctx, ended, cmd.Process.Pid, groups)
	err = cmd.Wait()
	if ctx.Err() != nil {
		return false, nil
	}
	return rebooted(err)
}

// mount puts the machine's root file system together, and gives nspawn the
// /run/systemd/nspawn that it needs: one that is not on a disk, or a reboot
// fails as nspawn tidies up.
func (m *Machine) mount() error {
	const ownRun = "/run/systemd/nspawn"
	if err := os.MkdirAll(ownRun, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", ownRun, "tmpfs", 0, "mode=0755"); err != nil {
		return fmt.Errorf("mounting %s: %w", ownRun, err)
	}
	return m.mountDisks()
}

// lock makes this the machine's only supervisor. It goes with the process.
func (m *Machine) lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(m.Dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, errors.New("it runs already")
	}
	return func() { f.Close() }, nil
}

func ownMounts() (bool, error) {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return false, err
	}
	parent, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", os.Getppid()))
	if errors.Is(err, os.ErrNotExist) {
		return true, nil // it is gone, so it was no shell that would wait for us
	}
	return own != parent, err
}
