package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/hostverb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// Limits for single calls that hang.
const (
	callWithin  = 30 * time.Second
	drainWithin = 2 * time.Minute
	// betweenRounds keeps a node's busy pods from causing a round of evictions
	// with each of their changes. One that has left is worth a round at once.
	betweenRounds = 4 * time.Second
)

// act does one action. To do one again that was done already is harmless.
func (a *Agent) act(ctx context.Context, action machine.Action, o machine.Observation) error {
	if action.Do == machine.DoDrain {
		return a.drain(ctx, action, o)
	}
	node := a.node()
	if node == nil {
		return fmt.Errorf("this node's Node object is not there")
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	switch action.Do {
	case machine.DoWork:
		order := hostverb.Order{Spec: o.Spec, Active: o.Host.Active, ClusterConfiguration: a.clusterConfiguration}
		return a.start(ctx, action.Verb, action.Key, order)
	case machine.DoTake:
		_, err := a.slots.Take(ctx, ownerOf(node))
		return err
	case machine.DoFree:
		return a.free(ctx, node)
	case machine.DoCordon:
		return a.patch(ctx, cordon(node, a.state.Upgrade.Name, o.Slot.Held))
	case machine.DoUncordon:
		return a.patch(ctx, uncordon(node))
	case machine.DoReboot:
		return a.reboot(ctx, o)
	}
	return fmt.Errorf("unknown action %q", action.Do)
}

// start has the host run a verb. Each runs once at a time. Why the host could not
// even be asked for it is told in the status.
func (a *Agent) start(ctx context.Context, v verb.Verb, key string, order hostverb.Order) error {
	entry, ok := hostverb.Of(v)
	if !ok {
		return fmt.Errorf("there is no host verb %q", v)
	}
	request, err := entry.Request(ctx, key, order)
	if err != nil {
		a.problems[v] = err.Error()
		return err
	}
	delete(a.problems, v)
	return a.Host.Start(ctx, request, entry.Options(order))
}

func (a *Agent) reboot(ctx context.Context, o machine.Observation) error {
	if err := a.givenUp(ctx, o); err != nil {
		return err
	}
	if err := a.Host.Reboot(ctx); err != nil {
		a.refused = err.Error()
		return err
	}
	a.rebootAt, a.refused = o.Now, ""
	return nil
}

// roundDue reports whether it is time for another round of evictions.
func (a *Agent) roundDue(now time.Time) bool {
	return a.drained == nil || a.pods.left.Load() || now.Sub(a.drained.At) >= betweenRounds
}

func (a *Agent) drain(ctx context.Context, action machine.Action, o machine.Observation) error {
	a.pods.left.Store(false)
	ctx, cancel := context.WithTimeout(ctx, drainWithin)
	defer cancel()
	progress, err := a.drainer.Round(ctx, o.Spec.Drain, action.Delete)
	if err != nil {
		return err
	}
	a.drained = &machine.Drain{At: a.Now(), Left: progress.Left, Blocked: progress.Blocked, Message: progress.Message}
	return progress.Refused
}
