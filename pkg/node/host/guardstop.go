package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Runner runs a program of the host, as RunProgram does.
type Runner func(ctx context.Context, log *Log, program string, args ...string) (stdout string, err error)

// StopGuard ends the guard for good. It fails with the reason RolledBack if a rollback has
// begun, which then continues. A second call does nothing.
func (l Layout) StopGuard(ctx context.Context, log *Log, run Runner) error {
	armed, err := l.GuardArmed()
	if err != nil || !armed {
		return err
	}
	if err := l.rollbackBegan(); err != nil {
		return errors.Join(err, continueRollback(ctx, log, run))
	}
	if _, err := run(ctx, log, "systemctl", "stop", GuardUnit); err != nil {
		log.Printf("%v", err) // systemd may not know the unit yet
	}
	state, err := run(ctx, log, "systemctl", "show", "--value", "--property=ActiveState", GuardUnit)
	if state = strings.TrimSpace(state); err != nil || state != "inactive" && state != "failed" {
		return errors.Join(err, fmt.Errorf("%s was not stopped: it is %q", GuardUnit, state))
	}
	if err := l.rollbackBegan(); err != nil {
		return errors.Join(err, continueRollback(ctx, log, run))
	}
	return l.EndGuard(ctx, log, run)
}

// EndGuard disarms the guard, and has systemd forget its unit, whose files are removed:
// otherwise it stays in the list of units, and in that of failed ones if it was killed.
func (l Layout) EndGuard(ctx context.Context, log *Log, run Runner) error {
	if err := l.DisarmGuard(); err != nil {
		return err
	}
	for _, args := range [][]string{{"daemon-reload"}, {"reset-failed", GuardUnit + "*"}} { // a pattern may match nothing
		if _, err := run(ctx, log, "systemctl", args...); err != nil {
			log.Printf("%v", err)
		}
	}
	return nil
}

// rollbackBegan returns an error if a rollback of the guarded activation has begun.
func (l Layout) rollbackBegan() error {
	guard, err := l.Guard()
	if err != nil || guard == nil {
		return err
	}
	r, err := l.Rollback()
	if err != nil || !r.Of(*guard) || !r.FinishedAt.IsZero() {
		return err
	}
	return Fail(v1alpha1.ReasonRolledBack, "the guard returns the node to %s: %s", r.From, r.Message)
}

func continueRollback(ctx context.Context, log *Log, run Runner) error {
	_, err := run(ctx, log, "systemctl", "start", "--no-block", GuardUnit)
	return err
}
