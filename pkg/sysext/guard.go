package sysext

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// startGuard starts the guard if it is armed.
func (r *restart) startGuard(ctx context.Context) error {
	if !r.startsGuard {
		return nil
	}
	armed, err := r.layout.GuardArmed()
	if err != nil || !armed {
		return err
	}
	for _, args := range [][]string{{"daemon-reload"}, {"start", "--no-block", host.GuardUnit}} {
		if _, err := r.run(ctx, r.log, "systemctl", args...); err != nil {
			return fmt.Errorf("starting the guard: %w", err)
		}
	}
	return nil
}

// stopGuard disarms the guard and stops its unit: nothing was changed that it could undo.
func (r *restart) stopGuard(ctx context.Context) error {
	if !r.startsGuard {
		return nil
	}
	_, err := r.run(ctx, r.log, "systemctl", "stop", host.GuardUnit)
	return errors.Join(err, r.layout.DisarmGuard())
}
