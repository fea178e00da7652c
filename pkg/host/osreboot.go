package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// rebootFile is a /run/reboot-required whose reason is known and gone.
type rebootFile struct {
	BootID  string    `json:"bootID"`
	ModTime time.Time `json:"modTime"`
}

// ExplainRebootFile records that the /run/reboot-required that is there now, if
// any, was put there because of Kubernetes' symlink: the drop-ins that Flatcar's
// guides and CAPZ add to systemd-sysupdate.service touch it when the symlink has
// moved. What moves the symlink back calls this first. A later touch is
// another need, and so is one from before the symlink moved.
func (l Layout) ExplainRebootFile() error {
	at, err := l.rebootFileTime()
	if err != nil || at.IsZero() {
		return err
	}
	if link, err := os.Lstat(l.At(Link)); err == nil && at.Before(link.ModTime()) {
		return nil
	}
	bootID, err := l.BootID()
	if err != nil {
		return err
	}
	return writeJSON(rebootFileFile(l.Root()), rebootFile{BootID: bootID, ModTime: at})
}

// rebootFileCounts reports whether /run/reboot-required is there for another
// reason than Kubernetes. While the symlink points to another version than the
// one that runs, that is reason enough for the file, and a reboot is due anyway.
func (l Layout) rebootFileCounts(f Facts) bool {
	at, err := l.rebootFileTime()
	if err != nil || at.IsZero() || f.Active != "" && f.Merged != "" && f.Active != f.Merged {
		return false
	}
	explained, err := readJSON[rebootFile](rebootFileFile(l.Root()))
	return err != nil || explained == nil || explained.BootID != f.BootID || !explained.ModTime.Equal(at)
}

// rebootFileTime returns when the file was touched; zero where there is none.
func (l Layout) rebootFileTime() (time.Time, error) {
	info, err := os.Lstat(l.At(rebootRequiredFile))
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("looking for %s: %w", rebootRequiredFile, err)
	}
	return info.ModTime().UTC(), nil
}
