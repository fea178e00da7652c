package rollback

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/guard"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// sinceBoot returns the time since boot, which no change of the wall clock affects.
func sinceBoot() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) // it fails for unknown clocks only
	return time.Duration(now.Nano())
}

// observeStart finds out when the guard first started in this boot: a guard that is
// killed again and again still reaches its limit.
func (g *guardian) observeStart() error {
	g.start = g.sinceBoot()
	path := g.At(startFile)
	if text, err := os.ReadFile(path); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && time.Duration(n) <= g.start {
			g.start = time.Duration(n)
			return nil
		}
	}
	if err := host.WriteFile(path, []byte(strconv.FormatInt(int64(g.start), 10)), 0o600); err != nil {
		return fmt.Errorf("recording the start of the guard: %w", err)
	}
	return nil
}

// decide observes the node and returns package guard's verdict.
func (g *guardian) decide(ctx context.Context) (guard.Verdict, string) {
	a := guard.Activation{
		From: g.record.From, To: g.record.To,
		Limit: g.record.Within, ByReboot: g.record.Method != v1alpha1.MethodRestart,
	}
	o := g.observe(ctx)
	if guard.Problem(a, o) != "" {
		g.healthySince = -1
	} else if g.healthySince < 0 {
		g.healthySince = o.Elapsed
	}
	o.HealthySince = g.healthySince
	return guard.Decide(a, o)
}

// observe observes the node. What cannot be read is taken as unchanged: no rollback
// begins and none is repeated for it.
func (g *guardian) observe(ctx context.Context) guard.Observation {
	o := guard.Observation{Elapsed: g.sinceBoot() - g.start}
	boot, err := g.BootID()
	o.Rebooted = err == nil && boot != g.record.BootID
	if active, err := g.Active(); err == nil {
		o.Active = active.Version()
	}
	o.Merged = g.merged()
	if former, err := host.NewImage(g.record.From, host.Architecture()); err == nil {
		_, err := os.Stat(g.At(former.Path()))
		o.FormerGone = os.IsNotExist(err)
	}
	rollback, err := g.Rollback()
	if err != nil {
		g.log.Printf("%v", err)
	}
	if o.Returning = isOf(rollback, g.record) && rollback.FinishedAt.IsZero(); o.Returning {
		o.RebootedSince = boot != rollback.BootID
	}
	if o.Merged != "" {
		o.Health = g.health(ctx, g.Layout, g.record)
	}
	return o
}

// merged returns the version that is merged; empty if none is.
func (g *guardian) merged() string {
	merged, err := g.Merged()
	if err != nil {
		return ""
	}
	return merged.Version()
}

// isOf reports whether r, which may be nil, is the record of an activation's rollback.
func isOf(r *host.Rollback, activation host.Guard) bool {
	return r != nil && r.Upgrade == activation.Upgrade && r.To == activation.To
}
