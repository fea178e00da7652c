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

// Activate makes a staged image the next boot's: it looks at the image's bytes
// again, arms the guard, has the node's definitions offer the target's minor,
// and flips the symlink. Done twice, it changes nothing the second time.
//
// The guard's way back itself is still to come: what it needs is recorded.
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
	from, err := arm(l, files, to, args)
	if err != nil {
		return nil, fmt.Errorf("arming the guard: %w", err)
	}
	out := &ActivateOutput{From: from.Version(), To: to.Version()}
	protect := patchesOf(to.Kubernetes.Line(), []host.Image{from, to})
	if out.Conf, _, err = setConfs(l, files, to.Kubernetes.Line(), protect); err != nil {
		return nil, err
	}
	return out, flip(l, to)
}

// arm writes down where the way back leads, unless that was done already: a
// second call must not take the new state for the old one.
func arm(l host.Layout, files []confFile, to host.Image, args ActivateArgs) (from host.Image, err error) {
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

// running is what this boot has merged; where nothing is, what it should have.
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
