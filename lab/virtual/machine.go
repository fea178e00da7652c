package virtual

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Machine is a virtual machine.
type Machine struct {
	Kernel string // the program
	Disk   string // the file
	Memory string // "6G"
	// Share is a folder of this machine. The other mounts it with Mount.
	Share string
	// Console gets what the machine prints.
	Console io.Writer
}

// Mount returns the command with which a script mounts the share.
func (m Machine) Mount(target string) string {
	return fmt.Sprintf("mount -t hostfs -o %s none %s", m.Share, target)
}

// Run boots the machine, and returns when it has powered itself off. The end of the
// context cuts its power.
func (m Machine) Run(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, m.Kernel, m.args()...)
	cmd.Stdout, cmd.Stderr = m.Console, m.Console
	// Its memory is a file, which would be written to a disk elsewhere.
	cmd.Env = append(os.Environ(), "TMPDIR=/dev/shm", "HOME="+filepath.Dir(m.Disk))
	// Each process in the machine is one of this machine, too. The kernel ends them all
	// when it is asked to end. It ends with this process, or rather with this thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running a virtual machine: %w", err)
	}
	return nil
}

func (m Machine) args() []string {
	return []string{
		"ubd0=" + m.Disk, "root=/dev/ubda", "rw", "mem=" + m.Memory,
		"con=null", "con0=null,fd:1", "umid=" + filepath.Base(m.Disk),
		"systemd.unified_cgroup_hierarchy=1",
	}
}
