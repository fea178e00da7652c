package changeover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/migrate"
)

// Start pauses the other program, waits until its pods are gone, and then lets kubectl-upgrade
// manage the nodes.
func (c *Changeover) Start(ctx context.Context, result migrate.Result) error {
	switch _, record, err := c.record(ctx); {
	case err != nil:
		return err
	case record == nil && len(c.DryRun) == 0:
		return errors.New("the UpgradePolicy has no record of the changeover: it has to be prepared first")
	}
	if err := c.pauseDaemonSet(ctx); err != nil {
		return err
	}
	if c.Other.Pause != nil {
		if err := c.Other.Pause(ctx, c.DryRun); err != nil {
			return err
		}
	}
	if len(c.DryRun) == 0 {
		if err := c.waitForPods(ctx); err != nil {
			return err
		}
	}
	_, record, err := c.record(ctx)
	if err != nil {
		return err
	}
	if err := c.createSchedule(ctx, result.Schedule); err != nil {
		return err
	}
	if record != nil { // without one, this is a dry run
		if err := c.changePolicy(ctx, func(policy *v1alpha1.UpgradePolicy) { record.Start(&policy.Spec) }); err != nil {
			return err
		}
	}
	c.say("upgradepolicy.%s/%s configured: mode: Manage", v1alpha1.Group, v1alpha1.PolicyName)
	return nil
}

// pauseDaemonSet pauses the DaemonSet if it is not paused, and the program has no node in its
// hands. It reads and decides again if another client has written the DaemonSet meanwhile: that
// may have been its lock.
func (c *Changeover) pauseDaemonSet(ctx context.Context) error {
	const tries = 5
	for i := 1; ; i++ {
		d, err := c.daemonSet(ctx)
		if err != nil || Paused(d) {
			return err
		}
		busy, err := c.Other.Busy(ctx, d)
		if err != nil {
			return err
		}
		if busy != "" {
			return fmt.Errorf("%s: wait until that is over, and run this command again. Nothing was paused", busy)
		}
		err = c.pause(ctx, d)
		if err == nil {
			c.say("daemonset.apps/%s paused: its nodeSelector matches no node", d.Name)
			return nil
		}
		if i == tries || !changedMeanwhile(err) {
			return err
		}
	}
}

// waitForPods waits until no pod of the program is left. A pod may have taken a node into its
// hands in its last moment.
func (c *Changeover) waitForPods(ctx context.Context) error {
	err := c.wait(ctx, func() (string, error) {
		d, err := c.daemonSet(ctx)
		if err != nil {
			return "", err
		}
		pods, err := c.pods(ctx, d)
		if err != nil || len(pods) == 0 {
			return "", err
		}
		return fmt.Sprintf("%d pods of %s to end, such as %s", len(pods), c.Other.Name, pods[0].Name), nil
	})
	if err != nil {
		return err
	}
	d, err := c.daemonSet(ctx)
	if err != nil {
		return err
	}
	busy, err := c.Other.Busy(ctx, d)
	if err == nil && busy != "" {
		err = fmt.Errorf("%s: it began while it was paused, and the node may be cordoned. `kubectl upgrade migrate %s --undo` lets it finish; then run this command again", busy, strings.ToLower(c.Other.Name))
	}
	return err
}

// wait calls left until it returns nothing, and says what it waits for.
func (c *Changeover) wait(ctx context.Context, left func() (string, error)) error {
	said := ""
	for {
		what, err := left()
		if err != nil || what == "" {
			return err
		}
		if what != said {
			fmt.Fprintf(c.Out, "waiting for %s\n", what)
			said = what
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w while waiting for %s; the same command continues", ctx.Err(), what)
		case <-time.After(c.Every):
		}
	}
}
