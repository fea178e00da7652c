package sysupdate

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

const (
	// maxImage is how large an image may be. The bakery's have about 100 MiB.
	maxImage = 2 << 30
	// room is what a file system keeps free beside the image, reserve the part of
	// it that stays free where nobody says how large that is: with less than 10 %
	// the kubelet begins to evict pods.
	room           = 32 << 20
	reservePercent = 15
)

// limit returns how many bytes may be written for the image: as many as the server
// says that it has, or as many as there is room for where it does not say.
func (s *staging) limit(ctx context.Context) (int64, error) {
	size, err := s.source.size(ctx)
	if err != nil {
		return 0, err
	}
	free, total, err := s.layout.Room(host.ImagesDir)
	if err != nil {
		return 0, fmt.Errorf("looking for free space: %w", err)
	}
	if size < 0 {
		size = min(maxImage, free-max(room, total/100*reservePercent))
		free = max(free, room) // what is left is the limit
	}
	switch {
	case size > maxImage:
		return 0, host.Fail(v1alpha1.ReasonDiskFull, "%s has %d MiB, where an image may have %d MiB", s.image.Name(), size>>20, maxImage>>20)
	case size <= 0 || free < size+room:
		return 0, host.Fail(v1alpha1.ReasonDiskFull, "%s needs %d MiB in %s, where %d MiB are free",
			s.image.Name(), (max(size, 0)+room)>>20, host.ImagesDir, free>>20)
	}
	return size, nil
}

// runLimited runs a program that, with all that it starts, may write no file longer
// than limit: the kernel ends it (setrlimit(2), RLIMIT_FSIZE). systemd-sysupdate has
// no option for that and would go on until the disk is full. Its first act is to read
// its definitions, so that the limit is there long before a download.
func runLimited(cmd *exec.Cmd, limit int64) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	for resource, value := range map[int]uint64{unix.RLIMIT_FSIZE: uint64(max(0, limit)), unix.RLIMIT_CORE: 0} { //nolint:gosec // not negative
		err := unix.Prlimit(cmd.Process.Pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) { // which is: it has ended already
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return fmt.Errorf("limiting how much it may write: %w", err)
		}
	}
	return cmd.Wait()
}
