package guard

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// What the guard tries before it returns a node: each once in an activation, by its record.

// maxFailure is how much of what a program said is kept.
const maxFailure = 512

// interrupted is the failure of a try until it ends.
const interrupted = "the guard was interrupted"

// tried returns what was tried in this activation.
func (g *guardian) tried() (t Tried) {
	for _, one := range []*host.GuardTry{g.tries.Merge, g.tries.Kubelet} {
		if one != nil && one.Boot == g.boot {
			t.At = max(t.At, one.At-g.start)
		}
	}
	if merge := g.tries.Merge; merge != nil {
		t.Merge, t.MergeFailure = true, merge.Failure
	}
	if kubelet := g.tries.Kubelet; kubelet != nil {
		t.Kubelet = kubelet.Cause
	}
	if former := g.tries.Former; former != nil {
		t.FormerFailure = former.Failure
	}
	return t
}

// once tries something, and records that before and after. If the record cannot be written, this
// process of the guard still knows it.
func (g *guardian) once(record **host.GuardTry, cause string, try func() error) {
	one := &host.GuardTry{Boot: g.boot, At: g.sinceBoot(), Cause: cause, Failure: interrupted}
	*record = one
	g.keepTries()
	if err := try(); err != nil {
		g.log.Printf("%v", err)
		one.Failure = host.Clip(strings.ReplaceAll(err.Error(), "\n", "; "), maxFailure)
	} else {
		one.Failure = ""
	}
	g.keepTries()
}

func (g *guardian) keepTries() {
	if err := g.SetGuardTries(g.tries); err != nil {
		g.log.Printf("recording what was tried: %v", err)
	}
}

// mergeOnceMore merges the activated image, and starts what it brings.
func (g *guardian) mergeOnceMore(ctx context.Context) {
	g.once(&g.tries.Merge, "", func() error { return g.merge(ctx, g.record.To) })
}

// startOnceMore starts the kubelet, which systemd does not start any more.
func (g *guardian) startOnceMore(ctx context.Context) {
	g.once(&g.tries.Kubelet, g.seen.GaveUp, func() error { return g.startKubelet(ctx, "start") })
}

// mergeFormer merges the former image without a reboot. A boot has merged nothing: if this merges
// nothing either, the next boot would not.
func (g *guardian) mergeFormer(ctx context.Context) {
	g.once(&g.tries.Former, "", func() error { return g.merge(ctx, g.record.From) })
}

// merge merges the image that the symlink points to, and starts the kubelet and what else the boot
// would have started of the images. It changes nothing if that would break mounts.
func (g *guardian) merge(ctx context.Context, version string) error {
	ctx, cancel := context.WithTimeout(ctx, mergeTimeout)
	defer cancel()
	blockers, err := facts.RefreshBlockers(g.Layout)
	if err != nil {
		return err
	}
	if len(blockers) > 0 {
		return fmt.Errorf("a merge would break what is mounted at %s", strings.Join(blockers, ", "))
	}
	_, err = g.run(ctx, g.log, "systemd-sysext", "refresh")
	switch merged := g.merged(); {
	case merged != version && err != nil:
		return err
	case merged != version:
		return fmt.Errorf("systemd-sysext refresh merged %s", cmp.Or(merged, "no image of Kubernetes"))
	case err != nil:
		g.log.Printf("%v", err)
	}
	if _, err := g.run(ctx, g.log, "systemctl", "daemon-reload"); err != nil {
		return err
	}
	if err := g.startKubelet(ctx, "restart"); err != nil {
		return err
	}
	if _, err := g.run(ctx, g.log, "systemctl", "start", "--no-block", "multi-user.target"); err != nil {
		g.log.Printf("%v", err)
	}
	return nil
}

// startKubelet has systemd start or restart the kubelet, whatever its start limit says.
func (g *guardian) startKubelet(ctx context.Context, how string) error {
	if _, err := g.run(ctx, g.log, "systemctl", "reset-failed", kubeletUnit); err != nil {
		g.log.Printf("%v", err)
	}
	_, err := g.run(ctx, g.log, "systemctl", how, "--no-block", kubeletUnit)
	return err
}
