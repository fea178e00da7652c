package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Timeouts of single calls.
const (
	callTimeout  = 30 * time.Second
	drainTimeout = 2 * time.Minute
	// betweenRounds is the least time between two rounds of evictions. A pod that
	// has gone causes a round at once.
	betweenRounds = 4 * time.Second
)

// act carries out an action. Each action is idempotent.
func (a *Agent) act(ctx context.Context, action machine.Action, o machine.Observation) error {
	if action.Do == machine.DoDrain {
		return a.drain(ctx, action, o)
	}
	node := a.node()
	if node == nil {
		return fmt.Errorf("this node's Node object does not exist")
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	switch action.Do {
	case machine.DoWork:
		a.installed = a.installed && action.Verb != verb.Uninstall
		input := verb.Input{
			Spec: o.Spec, Method: a.state.Method, SoftReboots: o.Host.SoftReboots, Active: o.Host.Active,
			Keyring:              func() (string, error) { return a.keyring(ctx) },
			ClusterConfiguration: func() (string, error) { return a.clusterConfiguration(ctx) },
		}
		return a.start(ctx, action.Verb, action.Key, input)
	case machine.DoTake:
		return a.slots.Take(ctx, o.Slot.Reserved, ownerOf(node))
	case machine.DoFree:
		return a.free(ctx, node)
	case machine.DoCordon:
		return a.patch(ctx, cordon(node, a.state.Upgrade.Name, o.Slot.Held))
	case machine.DoUncordon:
		return a.uncordon(ctx)
	case machine.DoDisown:
		return a.patch(ctx, disown(node))
	case machine.DoReboot:
		return a.reboot(ctx, o, a.Host.Reboot)
	case machine.DoSoftReboot:
		return a.reboot(ctx, o, a.Host.SoftReboot)
	}
	return fmt.Errorf("unknown action %q", action.Do)
}

// reboot asks for a reboot of either kind.
func (a *Agent) reboot(ctx context.Context, o machine.Observation, ask func(context.Context) error) error {
	if err := a.checkAbandoned(ctx, o); err != nil {
		return err
	}
	if err := ask(ctx); err != nil {
		a.rebootProblem = err.Error()
		return err
	}
	a.rebootAt, a.rebootProblem = o.Now, ""
	return nil
}

// roundDue reports whether it is time for another round of evictions.
func (a *Agent) roundDue(now time.Time) bool {
	return a.drained == nil || a.pods.podGone.Load() || now.Sub(a.drained.At) >= betweenRounds
}

func (a *Agent) drain(ctx context.Context, action machine.Action, o machine.Observation) error {
	a.pods.podGone.Store(false)
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	progress, err := a.drainer.Round(ctx, o.Spec.Drain, action.Delete)
	if err != nil {
		return err
	}
	a.drained = &machine.Drain{At: a.Now(), Left: progress.Left, Blocked: progress.Blocked, Message: progress.Message}
	return progress.Refused
}
