package sysupdate

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// flip points the symlink to another image in the same folder, atomically and durably.
// An absolute symlink stays absolute, and a relative one relative.
func flip(l host.Layout, to host.Image) error {
	link := l.At(host.Link)
	before, err := os.Readlink(link)
	if err != nil {
		return fmt.Errorf("reading what %s points to: %w", host.Link, err)
	}
	after := filepath.Join(filepath.Dir(before), to.Name())
	if after == before {
		return nil
	}
	if err := renameio.Symlink(after, link); err != nil {
		return fmt.Errorf("pointing %s to %s: %w", host.Link, after, err)
	}
	return host.SyncDir(filepath.Dir(link))
}

// revertActivation points the symlink back to the merged image if another program has
// activated a newer one, for example Flatcar's timer before the agent was installed:
// otherwise any reboot would start that version outside a window. If the symlink
// points to an older version, a person wants to go back, and it stays. The reboot that
// the timer requested is then no longer needed. It returns a note if it found an
// activation to revert.
func revertActivation(l host.Layout) (note string, err error) {
	pending, err := l.ActivationPending()
	if err != nil || pending {
		return "", err
	}
	active, err := l.Active()
	if err != nil {
		return "", err
	}
	merged, err := running(l)
	if err != nil || !merged.Kubernetes.Less(active.Kubernetes) {
		return "", err
	}
	if !isFile(l.At(merged.Path())) {
		return fmt.Sprintf("%s points to %s but %s runs, and its image is gone: the symlink was not changed", host.Link, active.Version(), merged.Version()), nil
	}
	ignored := l.IgnoreRebootFile()
	if err := flip(l, merged); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s pointed to %s, which was not released; it points to %s again, which runs", host.Link, active.Version(), merged.Version()), ignored
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
