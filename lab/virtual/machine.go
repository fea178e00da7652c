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
	// Rootfs is the folder of a Debian, and Kernel a program in it: it runs with that
	// Debian's libraries.
	Rootfs, Kernel string
	// Clock is the library that keeps the machine's clock, and Slowness how many times
	// slower that is than this machine's while the machine computes. As it computes as
	// many times slower, time limits in it are right.
	Clock    string
	Slowness int
	Disk     string // the file
	Memory   string // "6G"
	// Share is a folder of this machine. The other mounts it with Mount.
	Share string
	// Console gets what the machine prints.
	Console io.Writer
}

// Mount returns the command with which a script mounts the share.
func (m Machine) Mount(target string) string {
	return fmt.Sprintf("mount -t hostfs -o hostfs=%s none %s", shared, target)
}

// Where the kernel has the folder of the disk, that of the clock, and the share.
const (
	disks  = "/opt"
	clock  = "/srv"
	shared = "/mnt"
)

// enter starts a program in a root file system, with some folders of this machine. Its
// mounts are gone when it ends.
const enter = `set -eu
root=$1 disks=$2 clock=$3 share=$4
shift 4
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount --bind "$disks" "$root` + disks + `"
mount --bind "$clock" "$root` + clock + `"
mount --bind "$share" "$root` + shared + `"
exec chroot "$root" /usr/bin/env "$@"
`

// Run boots the machine, and returns when it has powered itself off. The end of the
// context cuts its power.
func (m Machine) Run(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", enter, "enter",
		m.Rootfs, filepath.Dir(m.Disk), filepath.Dir(m.Clock), m.Share,
		"LD_PRELOAD=" + filepath.Join(clock, filepath.Base(m.Clock)), fmt.Sprintf("SLOWNESS=%d", m.Slowness), m.Kernel}, m.args()...)...)
	cmd.Stdout, cmd.Stderr = m.Console, m.Console
	// Its memory is a file, which would be written to a disk elsewhere.
	cmd.Env = append(os.Environ(), "TMPDIR=/dev/shm", "HOME="+disks)
	// Each process in the machine is one of this machine, too. They end with the first of
	// their process namespace. It ends with this process, or rather with this thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL,
		Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS}
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running a virtual machine: %w", err)
	}
	return nil
}

func (m Machine) args() []string {
	return []string{
		"ubd0=" + filepath.Join(disks, filepath.Base(m.Disk)), "root=/dev/ubda", "rw", "mem=" + m.Memory,
		"con=null", "con0=null,fd:1", "umid=" + filepath.Base(m.Disk),
		"systemd.unified_cgroup_hierarchy=1",
	}
}
