package sysupdate

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// VerifyMounted returns an error unless the image with that sha256 is mounted at
// dir. It compares the bytes of the file, then checks that this file is the one that
// is mounted, and only then runs programs of the image, confined, to get their versions.
//
// Reasons: HashMismatch, ContentMismatch.
func VerifyMounted(ctx context.Context, path, dir string, image host.Image, sha256Hex string) error {
	file, err := OpenVerified(ctx, path, sha256Hex)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return verifyMounted(ctx, file, dir, image)
}

func verifyMounted(ctx context.Context, file *os.File, dir string, image host.Image) error {
	if err := backedBy(file, dir); err != nil {
		return host.Fail(v1alpha1.ReasonHashMismatch, "cannot confirm that %s is a mount of %s: %w", dir, file.Name(), err)
	}
	return VerifyTree(ctx, dir, image, askImage(file))
}

// backedBy returns an error unless the file system at dir is on a loop device that is
// backed by the open file.
func backedBy(file *os.File, dir string) error {
	var mounted, opened unix.Stat_t
	if err := unix.Stat(dir, &mounted); err != nil {
		return err
	}
	if unix.Major(mounted.Dev) != loopMajor {
		return errors.New("it is not on a loop device")
	}
	device := fmt.Sprintf("/dev/loop%d", unix.Minor(mounted.Dev))
	loop, err := os.Open(device)
	if err != nil {
		return err
	}
	defer func() { _ = loop.Close() }()
	backing, err := unix.IoctlLoopGetStatus64(int(loop.Fd()))
	if err != nil {
		return fmt.Errorf("reading the backing file of %s: %w", device, err)
	}
	if err := unix.Fstat(int(file.Fd()), &opened); err != nil {
		return err
	}
	if opened.Ino != backing.Inode || opened.Dev != backing.Device {
		return fmt.Errorf("%s is backed by another file", device)
	}
	return nil
}

// loopMajor is the major device number of loop devices.
const loopMajor = 7
