package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// follow shows what changes until the upgrade has ended.
func (s *status) follow(ctx context.Context, reader *reader, first objects) error {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if s.timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, s.timeout)
	}
	defer cancel()
	live, err := reader.watch(limited, first)
	if err != nil {
		return err
	}
	sheet := s.newSheet()
	defer sheet.close()
	answers := reader.answers(limited)
	tick := time.NewTicker(time.Second) // ages grow while nothing changes
	defer tick.Stop()
	followed, silent := "", false
	for {
		o := live.objects()
		shown, err := s.look(o)
		if err != nil {
			return err
		}
		sheet.show(shown, silent)
		if followed == "" && shown.Upgrade != nil {
			followed = shown.Upgrade.Name
		}
		if ended, err := outcome(o, followed); ended {
			return err
		}
		select {
		case <-limited.Done():
			return s.expired(ctx)
		case answer := <-answers:
			if silent = !answer; silent {
				break
			}
			// Watches that failed for a while wait long before they try again.
			live.stop()
			if live, err = reader.watch(limited, o); err != nil {
				return err
			}
		case <-live.changed:
		case <-tick.C:
		}
	}
}

// expired tells an interruption from the end of --timeout.
func (s *status) expired(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return exitError{exitTimeout, fmt.Errorf("waiting timed out after %s; the upgrade goes on without us, `kubectl upgrade status` shows it", s.timeout)}
}

// outcome says whether the upgrade with that name has ended, or stands still
// until somebody acts; the error is how.
func outcome(o objects, name string) (ended bool, err error) {
	if name == "" {
		return false, nil
	}
	u := o.upgrade(name)
	if u == nil {
		return true, exitError{exitFailed, fmt.Errorf("ClusterUpgrade %s was deleted before it ended; `kubectl upgrade status` shows how far it came", name)}
	}
	v := viewUpgrade(u)
	switch {
	case v.Outcome == v1alpha1.OutcomeSucceeded:
		return true, nil
	case v.Outcome != "":
		return true, exitError{exitFailed, fmt.Errorf("ClusterUpgrade %s ended: %s: %s; `kubectl upgrade status` shows the nodes", name, v.Outcome, v.Message)}
	case v.Stalled && v.Reason != v1alpha1.ReasonSuspended:
		return true, exitError{exitFailed, fmt.Errorf("ClusterUpgrade %s cannot go on by itself: %s: %s; `kubectl upgrade status` shows the nodes", name, v.Reason, v.Message)}
	}
	return false, nil
}
