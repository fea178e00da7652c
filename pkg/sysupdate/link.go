package sysupdate

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// flip points the symlink to an image of the same folder, atomically and
// durably, and as absolute or relative as it was.
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

// keepMerged takes back an activation that was not ours: on a node whose timer
// came before us the symlink may point to a newer patch than the one that
// runs, and any reboot would start it outside a window. An older one is left
// alone: somebody wants to go back. It returns a note when it did something.
// The reboot that the timer asked for is then no longer due.
func keepMerged(l host.Layout) (note string, err error) {
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
		return fmt.Sprintf("%s points to %s while %s runs, whose image is gone: left as it is", host.Link, active.Version(), merged.Version()), nil
	}
	explained := l.IgnoreRebootFile()
	if err := flip(l, merged); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s pointed to %s, which nobody had released; it points to %s again, which runs", host.Link, active.Version(), merged.Version()), explained
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
