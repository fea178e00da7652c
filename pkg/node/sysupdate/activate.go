package sysupdate

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Activate selects a staged image for the next boot. It verifies the image's bytes
// again, arms the guard, changes the node's definitions to the target's minor, and flips
// the symlink. On the way back it also restores the kubelet's files of that version. A second call
// changes nothing. staticPods is the folder in which the kubelet that runs looks for static pods.
//
// Reasons: HashMismatch, ConfConflict, DiskFull, ActivateFailed.
func Activate(ctx context.Context, l host.Layout, args verb.ActivateArgs, staticPods string) (*ActivateOutput, error) {
	to, err := host.NewImage(args.Version, host.Architecture())
	if err != nil {
		return nil, err
	}
	if err := VerifyHash(ctx, l.At(to.Path()), args.SHA256); err != nil {
		return nil, err
	}
	files, err := readConfs(l)
	if err != nil {
		return nil, err
	}
	if err := keepNeeded(l); err != nil {
		return nil, err
	}
	from, err := armGuard(l, files, to, args, staticPods)
	if err != nil {
		return nil, fmt.Errorf("arming the guard: %w", err)
	}
	out := &ActivateOutput{From: from.Version(), To: to.Version()}
	if out.Conf, _, err = setConfs(l, files, to.Kubernetes.Line()); err != nil {
		return nil, err
	}
	if args.Back {
		if err := l.RestoreKubeletFiles(to.Version()); err != nil {
			return nil, err
		}
	}
	return out, flip(l, to.Path())
}

// armGuard arms the guard and returns the image that it would return to. What an earlier
// call for the same activation recorded is kept: definitions and symlink may have changed
// since.
func armGuard(l host.Layout, files []confFile, to host.Image, args verb.ActivateArgs, staticPods string) (from host.Image, err error) {
	guard := host.Guard{
		Upgrade: args.Upgrade, Method: args.Method, To: to.Version(), SHA256: args.SHA256,
		ArmedAt: time.Now().UTC(), Within: cmp.Or(args.GuardWithin, DefaultGuardWithin),
		DefaultRoute: l.HasDefaultRoute(), StaticPods: staticPods,
	}
	bootID, err := l.BootID()
	if err != nil {
		return host.Image{}, err
	}
	guard.BootID = host.BootName(bootID, args.SoftReboots)
	former, err := l.Guard()
	if err != nil {
		return host.Image{}, err
	}
	active, err := l.Active()
	if err != nil {
		return host.Image{}, err
	}
	if former != nil && former.BootID == guard.BootID && former.To == guard.To && (active == to || former.Upgrade == guard.Upgrade && former.From == current(l)) {
		guard.From, guard.StaticPods, guard.Restore = former.From, former.StaticPods, former.Restore
		if from, err = host.NewImage(guard.From, host.Architecture()); err != nil {
			return host.Image{}, err
		}
		return from, arm(l, guard, from)
	}
	if from, err = running(l); err != nil || from == to {
		return from, err
	}
	guard.From = from.Version()
	if guard.Restore, err = restore(l, files, from); err != nil {
		return host.Image{}, err
	}
	return from, arm(l, guard, from)
}

// arm arms the guard unless the image that it would return to is gone.
func arm(l host.Layout, guard host.Guard, from host.Image) error {
	if !isFile(l.At(from.Path())) {
		return host.Fail(v1alpha1.ReasonActivateFailed, "%s runs, and its image is not on the disk, so nothing could return the node to it: put the file back: %s",
			from.Version(), from.PublishedPath())
	}
	return l.ArmGuard(guard)
}

// current returns the version that runs; empty if that is not known.
func current(l host.Layout) string {
	image, err := running(l)
	if err != nil {
		return ""
	}
	return image.Version()
}

// running returns the merged image, or the active one if none is merged.
func running(l host.Layout) (host.Image, error) {
	if merged, err := l.Merged(); err == nil {
		return merged, nil
	}
	return l.Active()
}

// restore returns what a rollback to an image has to restore.
func restore(l host.Layout, files []confFile, from host.Image) (host.Restore, error) {
	_, target, err := targets(l, from.Path())
	if err != nil {
		return host.Restore{}, err
	}
	r := host.Restore{Link: host.Link, LinkTarget: target, Confs: map[string]string{}}
	for _, f := range files {
		r.Confs[f.name] = f.text
		if f.conf.Line != from.Kubernetes.Line() { // an activation that was cut off wrote it
			delete(r.Confs, f.name)
			f.conf.Line = from.Kubernetes.Line()
			r.Confs[confName(f.name, f.conf.Line)] = f.conf.Render()
		}
	}
	r.Files, err = l.SaveKubeletFiles(from.Version())
	return r, err
}

// StageOutput is the output of Stage.
type StageOutput struct {
	// Path of the image.
	Path string `json:"path"`
	// Downloaded is false if the right file was already present.
	Downloaded bool `json:"downloaded"`
	// Bytes is the image's size.
	Bytes int64 `json:"bytes"`
	// Notes are sentences, one for each thing that was corrected.
	Notes []string `json:"notes,omitempty"`
}

// DefaultGuardWithin is how long the guard waits if the order does not say it.
var DefaultGuardWithin = time.Duration(*v1alpha1.DefaultStrategy().GuardSeconds) * time.Second

// ActivateOutput is the output of Activate.
type ActivateOutput struct {
	// From is the version that runs, To the one that the next boot merges.
	From string `json:"from"`
	To   string `json:"to"`
	// Conf is the name of the node's sysupdate definition; empty if it has none.
	Conf string `json:"conf,omitempty"`
}

// flip points the symlink to another image, atomically and durably. An absolute symlink stays
// absolute, and a relative one relative.
func flip(l host.Layout, to string) error {
	link := l.At(host.Link)
	before, after, err := targets(l, to)
	if err != nil || after == before {
		return err
	}
	if err := renameio.Symlink(after, link); err != nil {
		return fmt.Errorf("pointing %s to %s: %w", host.Link, after, err)
	}
	return host.SyncDir(filepath.Dir(link))
}

// targets returns what the symlink points to, and what it would contain to point to a path in
// the same way.
func targets(l host.Layout, to string) (before, after string, err error) {
	if before, err = os.Readlink(l.At(host.Link)); err != nil {
		return "", "", fmt.Errorf("reading what %s points to: %w", host.Link, err)
	}
	if filepath.IsAbs(before) {
		return before, to, nil
	}
	after, err = filepath.Rel(filepath.Dir(host.Link), to)
	return before, after, err
}

// rightTarget returns the image that the symlink should point to. That is the one that runs
// if another program has activated a newer one, for example Flatcar's timer before the agent
// was installed: otherwise any reboot would start that version outside a window. It is also
// the one that runs if the file that the symlink points to is gone: the next boot would bring
// no Kubernetes. If the symlink points to an older version, a person wants to go back, and it
// stays. The note says why the target is wrong, or that it cannot be corrected.
func rightTarget(l host.Layout) (to host.Image, note string, err error) {
	active, err := l.Active()
	if err != nil {
		return host.Image{}, "", err
	}
	runs, err := running(l)
	if err != nil {
		return host.Image{}, "", err
	}
	gone := !onDisk(l, active)
	switch {
	case runs == active || !gone && !runs.Kubernetes.Less(active.Kubernetes):
		return active, "", nil
	case !onDisk(l, runs):
		return active, fmt.Sprintf("%s points to %s but %s runs, and its image is gone: the symlink was not changed", host.Link, active.Version(), runs.Version()), nil
	case gone:
		return runs, fmt.Sprintf("%s pointed to %s, whose image is gone; it points to %s again, which runs", host.Link, active.Version(), runs.Version()), nil
	}
	return runs, fmt.Sprintf("%s pointed to %s, which was not released; it points to %s again, which runs", host.Link, active.Version(), runs.Version()), nil
}

// correctLink points the symlink to the image that rightTarget returns, where it is kept. If
// it moves the symlink to another version, the reboot that the timer requested is no longer
// needed. It returns rightTarget's note.
func correctLink(l host.Layout) (note string, err error) {
	to, note, err := rightTarget(l)
	if err != nil || !isFile(l.At(to.Path())) {
		return note, err
	}
	active, err := l.Active()
	if err != nil {
		return "", err
	}
	var ignored error
	if active != to {
		ignored = l.IgnoreRebootFile()
	}
	if err := flip(l, to.Path()); err != nil {
		return "", err
	}
	return note, ignored
}

// onDisk reports whether there is an image, kept or where its publisher puts it.
func onDisk(l host.Layout, image host.Image) bool {
	return isFile(l.At(image.Path())) || isFile(l.At(image.PublishedPath()))
}

// isFile reports whether there is a file that is not empty.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}
