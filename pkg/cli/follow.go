package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
)

// following shows an upgrade until it has ended, from the cluster's objects
// alone: every person who follows it, from anywhere, sees the same.
type following struct {
	*program
	timeout time.Duration
	// upgrade that is followed. Empty: the active one, or the next.
	upgrade string
	// node whose transitions are told. Empty: all.
	node string
	// other draws what was asked for instead of the upgrade's progress: the
	// whole screen while there is no upgrade, or one node. Its error ends it.
	other func(objects) (picture string, instead bool, err error)

	expected forecaster
}

// redrawEvery limits how often a screen is drawn, however much changes.
const redrawEvery = 150 * time.Millisecond

// follow ends with the upgrade: nil when it succeeded.
func (f *following) follow(ctx context.Context, reader *reader, first objects) error {
	f.expected.records, _ = reader.records(ctx) // without them the forecast is less exact
	err := f.watch(ctx, reader, first)
	if errors.Is(err, context.Canceled) && f.upgrade != "" {
		fmt.Fprintf(f.ErrOut, "Detached: upgrade %s goes on. `kubectl upgrade status -w` follows it again, `kubectl upgrade suspend %s` stops it before the next node.\n", f.upgrade, f.upgrade)
	}
	return err
}

func (f *following) watch(ctx context.Context, reader *reader, first objects) error {
	limited, stop := context.WithCancel(ctx)
	defer stop()
	if f.timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(limited, f.timeout)
		defer cancel()
	}
	live, err := reader.watch(limited, first)
	if err != nil {
		return err
	}
	sheet := f.newSheet()
	defer sheet.close()
	answers := reader.answers(limited)
	resized, ignore := resizes()
	defer ignore()
	tick := time.NewTicker(time.Second) // clocks go on while nothing changes
	defer tick.Stop()
	for silent, changed := false, true; ; {
		o := live.objects()
		if ended, err := f.show(sheet, o, silent, changed); ended || err != nil {
			return err
		}
		changed = false
		select {
		case <-limited.Done():
		case <-time.After(redrawEvery):
		}
		select {
		case <-limited.Done():
			return f.expired(ctx)
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
			changed = true
		case <-resized:
		case <-tick.C:
		}
	}
}

// show draws what is known, and says whether the upgrade has ended and how.
func (f *following) show(sheet sheet, o objects, silent, changed bool) (ended bool, err error) {
	shown := look{status: view(o), silent: silent}
	if f.node != "" {
		shown.status.Nodes = only(f.node, shown.status.Nodes)
	}
	if f.upgrade == "" && shown.status.Upgrade != nil {
		f.upgrade = shown.status.Upgrade.Name
	}
	u := o.upgrade(f.upgrade)
	if u != nil {
		shown.status.Upgrade = viewUpgrade(u)
		shown.progress = viewProgress(o, u, f.expected.look(o, f.upgrade, changed, f.now()))
	}
	picture, instead, err := f.other(o)
	if err != nil {
		return false, err
	}
	if instead || u == nil {
		shown.progress, shown.picture = nil, picture
	}
	sheet.show(shown)
	return outcome(o, f.upgrade)
}

// look is what is known at one moment.
type look struct {
	status render.Status
	// progress of the upgrade that is followed. Nil: picture is shown instead.
	progress *render.Progress
	picture  string
	// silent says that the API server does not answer, so that all this may be
	// old.
	silent bool
}

// expired tells an interruption from the end of --timeout.
func (f *following) expired(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return exitError{exitTimeout, fmt.Errorf("waiting timed out after %s; the upgrade goes on without us, `kubectl upgrade status` shows it", f.timeout)}
}

// outcome says whether the upgrade with that name has ended, or stands still
// until a person acts; the error is how.
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
		return true, exitError{exitFailed, fmt.Errorf("ClusterUpgrade %s ended: %s: %s; `kubectl upgrade history %s` shows the nodes", name, v.Outcome, v.Message, name)}
	case v.Stalled && v.Reason == v1alpha1.ReasonNodeFailed:
		return true, exitError{exitFailed, fmt.Errorf("ClusterUpgrade %s cannot go on by itself: %s: %s; `kubectl upgrade apply %s --retry` begins anew once that is mended", name, v.Reason, v.Message, v.To)}
	case v.Stalled && !v.Reason.Info().Resumes: // what resumes by itself can be watched
		return true, exitError{exitFailed, fmt.Errorf("ClusterUpgrade %s cannot go on by itself: %s: %s; `kubectl upgrade status` shows the nodes", name, v.Reason, v.Message)}
	}
	return false, nil
}
