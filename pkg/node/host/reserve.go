package host

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// reserveBytes is the space that a rollback needs at most on one file system: its
// record, definitions, and the kubelet's two files.
const reserveBytes = 1 << 20

// reserved are the folders in which a rollback writes. They may be on different file
// systems.
var reserved = []string{StateDir(Root), filepath.Dir(KubeletConfig), "/etc/kubernetes"}

const reserveName = ".kubectl-upgrade-reserve"

// reserve takes up disk space that ReleaseReserve frees, so that a rollback can write
// although the disk has become full. The content is random: a file system that
// compresses would not keep room for zeros.
func (l Layout) reserve() error {
	data := make([]byte, reserveBytes)
	_, _ = rand.Read(data)
	for _, dir := range reserved {
		if err := WriteFile(l.At(dir, reserveName), data, 0o600); err != nil {
			_ = l.ReleaseReserve()
			return Fail(v1alpha1.ReasonDiskFull, "reserving disk space in %s for a rollback: %w", dir, err)
		}
	}
	return nil
}

// ReleaseReserve frees the reserved disk space.
func (l Layout) ReleaseReserve() error {
	var problems []error
	for _, dir := range reserved {
		if err := remove(l.At(dir, reserveName)); err != nil {
			problems = append(problems, fmt.Errorf("freeing the reserved disk space in %s: %w", dir, err))
		}
	}
	return errors.Join(problems...)
}
