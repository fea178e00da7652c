package sysupdate

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Activate selects a staged image for the next boot. It verifies the image's bytes
// again, arms the guard, changes the node's definitions to the target's minor, and flips
// the symlink. A second call changes nothing.
//
// Reasons: HashMismatch, ConfConflict, DiskFull, ActivateFailed.
func Activate(ctx context.Context, l host.Layout, args verb.ActivateArgs) (*ActivateOutput, error) {
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
	from, err := armGuard(l, files, to, args)
	if err != nil {
		return nil, fmt.Errorf("arming the guard: %w", err)
	}
	out := &ActivateOutput{From: from.Version(), To: to.Version()}
	if out.Conf, _, err = setConfs(l, files, to.Kubernetes.Line()); err != nil {
		return nil, err
	}
	return out, flip(l, to.Path())
}

// armGuard arms the guard and returns the image that it would return to. What an earlier
// call for the same activation recorded is kept: definitions and symlink may have changed
// since.
func armGuard(l host.Layout, files []confFile, to host.Image, args verb.ActivateArgs) (from host.Image, err error) {
	guard := host.Guard{
		Upgrade: args.Upgrade, Method: args.Method, To: to.Version(), SHA256: args.SHA256,
		ArmedAt: time.Now().UTC(), Within: cmp.Or(args.GuardWithin, DefaultGuardWithin),
		DefaultRoute: l.HasDefaultRoute(),
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
		guard.From, guard.Restore = former.From, former.Restore
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
		return host.Fail(v1alpha1.ReasonActivateFailed, "%s runs, and its image is not on the disk, so nothing could return the node to it: put the file back: %s", from.Version(), from.PublishedPath())
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
