package rollback

import (
	"context"
	"errors"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// Stop ends the guard for good, as the node is verified. It fails with the reason
// RolledBack if a rollback has begun, which then continues. A second call does nothing.
func Stop(ctx context.Context, l host.Layout, log *host.Log) error {
	return stop(ctx, l, log, host.RunProgram)
}

type program func(ctx context.Context, log *host.Log, program string, args ...string) (stdout string, err error)

func stop(ctx context.Context, l host.Layout, log *host.Log, run program) error {
	armed, err := l.GuardArmed()
	if err != nil || !armed {
		return err
	}
	if err := rollbackBegan(l); err != nil {
		return err
	}
	if _, err := run(ctx, log, "systemctl", "stop", host.GuardUnit); err != nil {
		// After a boot in which the unit was not enabled yet systemd does not know it.
		log.Printf("%v", err)
	}
	if err := rollbackBegan(l); err != nil {
		_, restart := run(ctx, log, "systemctl", "start", "--no-block", host.GuardUnit)
		return errors.Join(err, restart)
	}
	return l.DisarmGuard()
}

// rollbackBegan returns an error if a rollback of the guarded activation has begun.
func rollbackBegan(l host.Layout) error {
	record, err := l.Guard()
	if err != nil || record == nil {
		return err
	}
	r, err := l.Rollback()
	if err != nil || !isOf(r, *record) {
		return err
	}
	return host.Fail(v1alpha1.ReasonRolledBack, "the guard returns the node to %s: %s", r.From, r.Message)
}
