package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/hostverb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// How soon a verb that could not be started is tried again: twice as long each time.
const (
	firstStartPause = 5 * time.Second
	lastStartPause  = time.Minute
)

// unstarted is why a verb could not be started, and for how long it rests.
type unstarted struct {
	machine.Unstarted
	pause time.Duration
}

// start has the host run a verb. Each runs once at a time. Why one could not be
// started is told in the status; it is tried again after a pause that grows.
func (a *Agent) start(ctx context.Context, v verb.Verb, key string, order hostverb.Order) error {
	entry, ok := hostverb.Lookup(v)
	if !ok {
		return fmt.Errorf("there is no host verb %q", v)
	}
	err := a.ask(ctx, entry, key, order)
	if err == nil {
		delete(a.unstarted, v)
		return nil
	}
	now, last := a.Now(), a.unstarted[v]
	if last.Key != key {
		last = unstarted{}
	}
	pause := min(max(2*last.pause, firstStartPause), lastStartPause)
	a.unstarted[v] = unstarted{pause: pause, Unstarted: machine.Unstarted{
		Key: key, Reason: host.ReasonOf(err, entry.Failed), Message: err.Error(), Again: now.Add(pause),
	}}
	return err
}

func (a *Agent) ask(ctx context.Context, entry hostverb.Entry, key string, order hostverb.Order) error {
	if err := a.checkOrder(ctx, entry, order); err != nil {
		return err
	}
	request, err := entry.Request(ctx, key, order)
	if err != nil {
		return err
	}
	return a.Host.Start(ctx, request, entry.Options(order))
}
