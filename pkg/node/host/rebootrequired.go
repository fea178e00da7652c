package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// rebootFile identifies a /run/reboot-required that no longer asks for a reboot.
type rebootFile struct {
	BootID  string    `json:"bootID"`
	ModTime time.Time `json:"modTime"`
}

// IgnoreRebootFile records that the present /run/reboot-required, if there is one,
// asks for a reboot only because of Kubernetes' symlink: the drop-ins that
// Flatcar's guides and CAPZ add to systemd-sysupdate.service touch the file after
// the symlink has moved. It is called before the symlink is moved back. A file
// that is older than the symlink, or is touched again later, still counts.
func (l Layout) IgnoreRebootFile() error {
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
	return writeJSON(ignoredRebootFile(l.Root()), rebootFile{BootID: bootID, ModTime: at})
}

// systemNeedsReboot reports whether /run/reboot-required exists for a reason other
// than Kubernetes. While the symlink points to a version that does not run yet,
// Kubernetes is taken to be the reason.
func (l Layout) systemNeedsReboot(f Facts) bool {
	at, err := l.rebootFileTime()
	if err != nil || at.IsZero() || f.Active != "" && f.Merged != "" && f.Active != f.Merged {
		return false
	}
	ignored, err := readJSON[rebootFile](ignoredRebootFile(l.Root()))
	return err != nil || ignored == nil || ignored.BootID != f.BootID || !ignored.ModTime.Equal(at)
}

// rebootFileTime returns when /run/reboot-required was last touched, or zero if it
// does not exist.
func (l Layout) rebootFileTime() (time.Time, error) {
	info, err := os.Lstat(l.At(rebootRequiredFile))
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("checking %s: %w", rebootRequiredFile, err)
	}
	return info.ModTime().UTC(), nil
}
