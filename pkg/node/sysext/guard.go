package sysext

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// cleanUpTimeout is how long systemd may take to stop the guard.
const cleanUpTimeout = 30 * time.Second

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

// stopGuard ends the guard: nothing was changed that it could undo.
func (r *restart) stopGuard(ctx context.Context) error {
	if !r.startsGuard {
		return nil
	}
	return r.layout.StopGuard(ctx, r.log, r.run)
}

// CleanUp ends the guard if the verb was killed before it merged anything: the agent then
// reboots the node instead, which may take long.
func CleanUp(l host.Layout, log *host.Log) error {
	guard, err := l.Guard()
	if err != nil || guard == nil {
		return err
	}
	if merged, err := l.Merged(); err != nil || merged.Version() != guard.From {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanUpTimeout)
	defer cancel()
	return l.StopGuard(ctx, log, host.RunProgram)
}
