package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Gather collects the facts about the node, except SoftReboots, for which systemd is
// asked, Confs, ConfProblem and Armed, which package sysupdate finds, and Node, and those about
// static pods and the kubelet, which package facts finds.
func Gather(l Layout) (verb.HostFacts, error) {
	var facts verb.HostFacts
	var err error
	if facts.BootID, err = l.BootID(); err != nil {
		return verb.HostFacts{}, err
	}
	installed, err := l.Installed()
	if err != nil {
		return verb.HostFacts{}, err
	}
	for _, image := range installed {
		facts.Installed = append(facts.Installed, image.Version())
	}
	if merged, err := l.Merged(); err == nil {
		facts.Merged = merged.Version()
		if !l.exists(merged.Path()) && !l.exists(merged.PublishedPath()) {
			facts.MissingImage = merged.PublishedPath()
		}
	}
	facts.Active = l.nextBoot(facts.Merged)
	facts.Extensions, facts.Unmerged = l.otherExtensions()
	facts.Unsupported = l.unsupported()
	facts.HasFiles = l.HasFiles()
	return facts, l.gatherRecords(&facts)
}

// nextBoot returns Facts.Active.
func (l Layout) nextBoot(merged string) string {
	active, err := l.Active()
	switch {
	case err == nil && l.exists(Link):
		return active.Version()
	case (err == nil || merged != "") && !l.nextBootHasKubernetes():
		return verb.NoKubernetes
	}
	return ""
}

// nextBootHasKubernetes reports whether the next boot finds an image of Kubernetes: systemd-sysext
// looks in these folders.
func (l Layout) nextBootHasKubernetes() bool {
	for _, dir := range []string{"/etc/extensions", "/run/extensions", "/var/lib/extensions"} {
		entries, _ := os.ReadDir(l.At(dir))
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "kubernetes") && l.exists(filepath.Join(dir, e.Name())) {
				return true
			}
		}
	}
	return false
}

// exists reports whether there is a file that is not empty, or one that a symlink at path
// points to.
func (l Layout) exists(path string) bool {
	if target, err := os.Readlink(l.At(path)); err == nil {
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	info, err := os.Stat(l.At(path))
	return err == nil && info.Size() > 0
}

func (l Layout) gatherRecords(facts *verb.HostFacts) error {
	done, err := l.KubeadmDone()
	if err != nil {
		return err
	}
	if done != nil && !l.joinedSince(*done) {
		facts.Kubeadm = *done
	}
	if facts.CertificatesRenewed, err = readJSON[v1alpha1.CertificatesRenewed](certificatesRenewedFile(l.Root())); err != nil {
		return err
	}
	facts.RenewalLeft = l.exists(CertificatesCopy)
	if facts.Guarded, err = l.GuardArmed(); err != nil {
		return err
	}
	if facts.Rollback, err = l.Rollback(); err != nil {
		return err
	}
	if facts.GuardTried, err = l.guardTried(); err != nil {
		return err
	}
	if l.systemNeedsReboot(*facts) {
		facts.RebootRequired = true
		facts.RebootReason = "the operating system asks for a reboot: " + rebootRequiredFile + " is there, and not because of Kubernetes"
	}
	if facts.FreeBytes, err = l.FreeBytes(ImagesDir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// joinedSince reports whether the node has joined a cluster since kubeadm upgrade completed:
// kubeadm reset discards what kubeadm did before. kubeadm upgrade also writes this file, but
// before it completes. Times of files are only compared with each other: the clock may have been
// ahead when the file was written. A record of an earlier version has no such time.
func (l Layout) joinedSince(done verb.KubeadmDone) bool {
	info, err := os.Stat(l.At(KubeletAccess))
	switch {
	case err != nil:
		return false
	case done.AccessWritten.IsZero():
		return info.ModTime().After(done.FinishedAt) && !info.ModTime().After(time.Now())
	}
	return !info.ModTime().Equal(done.AccessWritten)
}

// unsupported returns why this node cannot be upgraded by switching sysext
// images, or "" if it can.
func (l Layout) unsupported() *v1alpha1.Problem {
	if a := Architecture(); a != "amd64" && a != "arm64" {
		return &v1alpha1.Problem{Reason: v1alpha1.UnsupportedArchitecture, Message: "there are no Kubernetes images for the architecture " + a}
	}
	if _, err := l.Active(); err != nil {
		return &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage, Message: err.Error()}
	}
	if _, err := os.Stat(l.At(Sysupdate)); err != nil {
		return &v1alpha1.Problem{Reason: v1alpha1.NoSysupdate, Message: fmt.Sprintf("there is no %s on this node", Sysupdate)}
	}
	return nil
}

// FreeBytes returns the space that is free for root on the file system of a folder.
func (l Layout) FreeBytes(dir string) (int64, error) {
	free, _, err := l.Room(dir)
	return free, err
}

// Room returns the space that is free for root on the file system of a folder, and
// the total size of that file system.
func (l Layout) Room(dir string) (free, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(l.At(dir), &st); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	size := int64(st.Bsize)                                     //nolint:unconvert // it has another type on other systems
	return int64(st.Bfree) * size, int64(st.Blocks) * size, nil //nolint:gosec // no file system has 2^63 blocks
}

// ControlPlaneComponents are the static pods that have the version of the kubeadm
// that wrote them. etcd has versions of its own.
var ControlPlaneComponents = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

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
func (l Layout) systemNeedsReboot(f verb.HostFacts) bool {
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
