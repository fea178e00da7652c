//go:build integration

package sysupdate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// inNode marks the run of this test program that is inside.
const inNode = "SYSUPDATE_TEST_IN_NODE"

// TestMain runs the tests as root in a node's file system, with the real systemd-sysupdate and
// the real paths. Writes go to an overlay that is discarded. NODE_ROOTFS is the root file
// system of a Debian with systemd-container, such as the lab's.
func TestMain(m *testing.M) {
	if os.Getenv(inNode) != "" {
		os.Exit(m.Run())
	}
	status, err := runInside()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func runInside() (status int, err error) {
	rootfs := os.Getenv("NODE_ROOTFS")
	if _, err := os.Stat(filepath.Join(rootfs, "usr/lib/systemd/systemd-sysupdate")); rootfs == "" || err != nil {
		return 0, fmt.Errorf("NODE_ROOTFS=%q must be a root file system with systemd-sysupdate (and this test must be root)", rootfs)
	}
	dir, err := os.MkdirTemp("", "sysupdate-test-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := mksquashfs(filepath.Join(dir, "images")); err != nil {
		return 0, err
	}
	for _, name := range []string{"mirror", "other"} {
		if err := gpgKey(dir, name); err != nil {
			return 0, err
		}
	}
	// In a mount namespace of its own everything is gone when it ends.
	script := `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$DIR/over"
mkdir "$DIR/over/upper" "$DIR/over/work" "$DIR/root"
mount -t overlay overlay -o "lowerdir=$NODE_ROOTFS,upperdir=$DIR/over/upper,workdir=$DIR/over/work" "$DIR/root"
mount --rbind /dev "$DIR/root/dev"
mount -t proc proc "$DIR/root/proc"
mkdir "$DIR/root/images"
mount --bind "$DIR/images" "$DIR/root/images"
cp "$SELF" "$DIR/root/test"
exec chroot "$DIR/root" /test "$@"`
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	if err := os.Mkdir(filepath.Join(dir, "over"), 0o700); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(context.Background(), "sh", append([]string{"-c", script, "sh"}, arguments()...)...)
	cmd.Env = append(os.Environ(), inNode+"=1", "DIR="+dir, "SELF="+self, "TMPDIR=/tmp")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// arguments returns this program's arguments without the file of go test's cache, which does
// not exist inside.
func arguments() []string {
	return slices.DeleteFunc(slices.Clone(os.Args[1:]), func(arg string) bool {
		return strings.HasPrefix(arg, "-test.testlogfile=")
	})
}
