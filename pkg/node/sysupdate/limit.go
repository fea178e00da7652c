package sysupdate

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

const (
	// maxImage is the largest allowed size of an image. The bakery's images have
	// about 100 MiB.
	maxImage = 2 << 30
	// margin is the space that stays free after the download. If the size of the
	// image is unknown, reservePercent of the file system stays free: below 10 % the
	// kubelet begins to evict pods.
	margin         = 32 << 20
	reservePercent = 15
	// smallestLimit is enough for the files that gpg writes to check a signature, for which
	// the same limit holds. With the gpg of systemd 262's time that is more than 4 KiB.
	smallestLimit = 1 << 20
)

// limit returns how many bytes may be written for the image: its size if the server
// reports it, or else what the disk has space for.
func (s *staging) limit(ctx context.Context) (int64, error) {
	size, err := s.source.size(ctx)
	if err != nil {
		return 0, err
	}
	free, total, err := s.layout.Room(host.ImagesDir)
	if err != nil {
		return 0, fmt.Errorf("reading the free space: %w", err)
	}
	if size < 0 {
		size = min(maxImage, free-max(margin, total/100*reservePercent))
		free = max(free, margin) // the margin is already subtracted
	}
	switch {
	case size > maxImage:
		return 0, host.Fail(v1alpha1.ReasonDiskFull, "%s has %d MiB, but an image may have at most %d MiB", s.image.Name(), size>>20, maxImage>>20)
	case size <= 0 || free < size+margin:
		return 0, host.Fail(v1alpha1.ReasonDiskFull, "%s needs %d MiB in %s, where %d MiB are free",
			s.image.Name(), (max(size, 0)+margin)>>20, host.ImagesDir, free>>20)
	}
	return max(size, smallestLimit), nil
}

// runLimited runs a program and limits the size of the files that it and its children
// may write: the kernel ends a process that exceeds it (setrlimit(2), RLIMIT_FSIZE).
// systemd-sysupdate has no such option and would fill the disk. The limit is set after
// the start, while the program still reads its definitions, long before a download.
func runLimited(cmd *exec.Cmd, limit int64) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	for resource, value := range map[int]uint64{unix.RLIMIT_FSIZE: uint64(max(0, limit)), unix.RLIMIT_CORE: 0} { //nolint:gosec // not negative
		err := unix.Prlimit(cmd.Process.Pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) { // ESRCH: it has already ended
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return fmt.Errorf("limiting how much it may write: %w", err)
		}
	}
	return cmd.Wait()
}
