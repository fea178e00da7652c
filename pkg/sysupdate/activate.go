package sysupdate

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// Activate selects a staged image for the next boot. It verifies the image's bytes
// again, records what a rollback would need, changes the node's definitions to the
// target's minor, and flips the symlink. A second call changes nothing.
//
// The rollback itself is not written yet.
//
// Reasons: HashMismatch, ConfConflict, ActivateFailed.
func Activate(ctx context.Context, l host.Layout, args ActivateArgs) (*ActivateOutput, error) {
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
	from, err := recordGuard(l, files, to, args)
	if err != nil {
		return nil, fmt.Errorf("recording what a rollback needs: %w", err)
	}
	out := &ActivateOutput{From: from.Version(), To: to.Version()}
	protect := patchesOf(to.Kubernetes.Line(), []host.Image{from, to})
	if out.Conf, _, err = setConfs(l, files, to.Kubernetes.Line(), protect); err != nil {
		return nil, err
	}
	return out, flip(l, to)
}

// recordGuard records the state before the activation and returns the image to return
// to. If an earlier call has recorded it in this boot, only the hash is updated: the
// state may have changed since.
func recordGuard(l host.Layout, files []confFile, to host.Image, args ActivateArgs) (from host.Image, err error) {
	bootID, err := l.BootID()
	if err != nil {
		return host.Image{}, err
	}
	armed, err := l.Guard()
	if err != nil {
		return host.Image{}, err
	}
	if armed != nil && armed.BootID == bootID && armed.To == to.Version() {
		armed.SHA256 = args.SHA256
		if err := l.SetGuard(*armed); err != nil {
			return host.Image{}, err
		}
		return host.NewImage(armed.From, host.Architecture())
	}
	if from, err = running(l); err != nil || from == to {
		return from, err
	}
	guard := host.Guard{From: from.Version(), To: to.Version(), SHA256: args.SHA256, BootID: bootID, ArmedAt: time.Now().UTC()}
	guard.Within = cmp.Or(args.GuardWithin, DefaultGuardWithin)
	if guard.Restore, err = restore(l, files, from, to); err != nil {
		return host.Image{}, err
	}
	return from, l.SetGuard(guard)
}

// running returns the merged image, or the active one if none is merged.
func running(l host.Layout) (host.Image, error) {
	if merged, err := l.Merged(); err == nil {
		return merged, nil
	}
	return l.Active()
}

func restore(l host.Layout, files []confFile, from, to host.Image) (host.Restore, error) {
	target, err := os.Readlink(l.At(host.Link))
	if err != nil {
		return host.Restore{}, fmt.Errorf("reading what %s points to: %w", host.Link, err)
	}
	r := host.Restore{
		Link:       host.Link,
		LinkTarget: filepath.Join(filepath.Dir(target), from.Name()),
		Confs:      map[string]string{},
	}
	for _, f := range files {
		r.Confs[f.name] = f.text
	}
	r.Files, err = l.SaveKubeletFiles(to.Version())
	return r, err
}
