package guard

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// sinceBoot returns the time since boot, without the time in which the machine was
// suspended. No change of the wall clock affects it.
func sinceBoot() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // it fails for unknown clocks only
	return time.Duration(now.Nano())
}

// observeBoot finds out in which boot the guard runs. After a soft reboot the kernel's boot
// ID is still the same.
func (g *guardian) observeBoot(ctx context.Context) error {
	bootID, err := g.BootID()
	if err != nil {
		return err
	}
	soft, err := g.SoftReboots(ctx, g.log, g.run)
	g.boot = host.BootName(bootID, soft.Count)
	return err
}

// observeStart finds out when the guard first started in this boot: a guard that is
// killed again and again still reaches its limit.
func (g *guardian) observeStart() error {
	g.start = g.sinceBoot()
	path := g.At(host.GuardStartFile)
	if text, err := os.ReadFile(path); err == nil {
		started, boot, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
		if n, err := strconv.ParseInt(started, 10, 64); err == nil && boot == g.boot && time.Duration(n) <= g.start {
			g.start = time.Duration(n)
			return nil
		}
	}
	if _, err := g.CountGuardBoot(); err != nil {
		g.log.Printf("counting the boots: %v", err)
	}
	if err := host.WriteFile(path, fmt.Appendf(nil, "%d %s", g.start, g.boot), 0o600); err != nil {
		return fmt.Errorf("recording the start of the guard: %w", err)
	}
	return nil
}

// verdict observes the node and returns package guard's verdict.
func (g *guardian) verdict(ctx context.Context) (Verdict, string) {
	a := g.activation()
	o, hosts := g.observe(ctx)
	now := g.sinceBoot()
	if g.kubelet == 0 || o.Merged != a.To || o.Health.Kubelet != "" {
		g.observeUnits(ctx, &o)
	}
	if g.kubelet > 0 {
		o.KubeletStarted = max(g.kubelet-g.start, 1) // it may have started first
	}
	o.Elapsed, o.Watched = now-g.start, now-g.began
	needed := NeedsAnswer(a, o)
	if !needed {
		g.asked, g.answers, g.answer = 0, 0, answer{}
	} else if g.asked == 0 || now-g.asked >= AskEvery {
		g.askNow(ctx, now)
	}
	verdict, why := g.decide(a, g.answered(o, hosts, now), now)
	if verdict != Watch && needed && g.asked != now {
		g.askNow(ctx, now) // what it acts on is no older than the rest
		verdict, why = g.decide(a, g.answered(o, hosts, now), now)
	}
	if o := g.seen; o.Boots > 0 && Survived(a, o) {
		if err := g.ForgetGuardBoots(); err != nil {
			g.log.Printf("counting the boots anew: %v", err)
		}
	}
	return verdict, why
}

// decide returns the verdict on what was observed at a moment.
func (g *guardian) decide(a Activation, o Observation, now time.Duration) (Verdict, string) {
	if healthy := Problem(a, o) == ""; healthy != g.healthy {
		g.healthy, g.since = healthy, now
	}
	o.Steady = now - g.since
	g.seen = o
	return Decide(a, o)
}

func (g *guardian) activation() Activation {
	return Activation{
		From: g.record.From, To: g.record.To,
		Limit: g.record.Within, ByReboot: g.record.Method != v1alpha1.MethodRestart,
	}
}

// observe observes the node, but for times and what the API server says of it, and reports whether an API
// server runs on the node.
func (g *guardian) observe(ctx context.Context) (o Observation, hosts bool) {
	o = Observation{Merged: g.merged(), Boots: g.GuardBoots(), Tried: g.tried()}
	o.Rebooted = g.boot != g.record.BootID
	o.Active, o.Elsewhere = g.active()
	if former, err := host.NewImage(g.record.From, host.Architecture()); err == nil {
		_, err := os.Stat(g.At(former.Path()))
		o.FormerGone = os.IsNotExist(err)
	}
	rollback, err := g.Rollback()
	if err != nil {
		g.log.Printf("%v", err)
	}
	if host.IsRollbackOf(rollback, g.record) {
		o.Returning, o.Returned = rollback.FinishedAt.IsZero(), !rollback.FinishedAt.IsZero()
		o.RebootedSince, o.Reboots = g.boot != rollback.BootID, rollback.Reboots
	}
	if o.Merged != "" {
		o.Health, hosts = g.check(ctx)
	}
	return o, hosts
}

// active returns the version that the symlink points to, or reports that it points
// elsewhere or is gone. A symlink that cannot be read is neither.
func (g *guardian) active() (version string, elsewhere bool) {
	active, err := g.Active()
	if err == nil {
		return active.Version(), false
	}
	_, err = os.Readlink(g.At(host.Link))
	return "", err == nil || os.IsNotExist(err)
}

// merged returns the version that is merged; empty if none is.
func (g *guardian) merged() string {
	merged, err := g.Merged()
	if err != nil {
		return ""
	}
	return merged.Version()
}
