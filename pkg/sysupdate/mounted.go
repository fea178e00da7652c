package sysupdate

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// VerifyMounted fails unless what is mounted at dir is the image, with that sha256:
// first its bytes are compared, then whether it is this very file that is mounted,
// and only then the programs in it are asked for their version.
//
// Reasons: HashMismatch, ContentMismatch.
func VerifyMounted(ctx context.Context, path, dir string, image host.Image, sha256Hex string) error {
	file, err := openVerified(ctx, path, sha256Hex)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return verifyMounted(ctx, file, dir, image)
}

func verifyMounted(ctx context.Context, file *os.File, dir string, image host.Image) error {
	if err := backedBy(file, dir); err != nil {
		return host.Fail(v1alpha1.ReasonHashMismatch, "what is mounted at %s is not known to be %s: %w", dir, file.Name(), err)
	}
	return VerifyTree(ctx, dir, image)
}

// backedBy fails unless the file system at dir is a loop device's, and that one reads
// from the open file.
func backedBy(file *os.File, dir string) error {
	device, err := mountSource(dir)
	if err != nil {
		return err
	}
	loop, err := os.Open(device)
	if err != nil {
		return err
	}
	defer func() { _ = loop.Close() }()
	backing, err := unix.IoctlLoopGetStatus64(int(loop.Fd()))
	if err != nil {
		return fmt.Errorf("asking %s for its file: %w", device, err)
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Ino != backing.Inode || st.Dev != backing.Device {
		return fmt.Errorf("%s reads from another file", device)
	}
	return nil
}

// mountSource returns the device of what is mounted last at a folder
// (proc_pid_mountinfo(5)).
func mountSource(dir string) (string, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("looking for mounts: %w", err)
	}
	source := ""
	for line := range strings.Lines(string(table)) {
		mount, device, ok := strings.Cut(line, " - ")
		at, from := strings.Fields(mount), strings.Fields(device)
		if ok && len(at) > 4 && len(from) > 1 && at[4] == dir {
			source = from[1]
		}
	}
	if source == "" {
		return "", fmt.Errorf("nothing is mounted there")
	}
	return source, nil
}
