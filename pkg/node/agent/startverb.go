package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// The first and the longest pause before a failed start of a verb is retried.
const (
	firstStartPause = 5 * time.Second
	lastStartPause  = time.Minute
)

// startFailure is why a verb could not be started, and the pause before the retry.
type startFailure struct {
	machine.StartFailure
	pause time.Duration
}

// start starts a verb on the host. It records a failure for the status; the pauses between
// retries grow.
func (a *Agent) start(ctx context.Context, v verb.Verb, key string, in verb.Input) error {
	entry, ok := verb.Lookup(v)
	if !ok {
		return fmt.Errorf("there is no host verb %q", v)
	}
	err := a.startVerb(ctx, entry, key, in)
	if err == nil {
		delete(a.startFailures, v)
		a.stageAgain = a.stageAgain && v != verb.Stage
		return nil
	}
	now, last := a.Now(), a.startFailures[v]
	if last.Key != key {
		last = startFailure{}
	}
	pause := min(max(2*last.pause, firstStartPause), lastStartPause)
	a.startFailures[v] = startFailure{pause: pause, StartFailure: machine.StartFailure{
		Key: key, Reason: host.ReasonOf(err, entry.Failed), Message: err.Error(), RetryAt: now.Add(pause),
	}}
	return err
}

func (a *Agent) startVerb(ctx context.Context, entry verb.Entry, key string, in verb.Input) error {
	if err := a.checkPolicy(ctx, entry); err != nil {
		return err
	}
	if err := a.checkSpec(ctx, entry, in); err != nil {
		return err
	}
	request, err := entry.Request(key, in)
	if err != nil {
		return err
	}
	return a.Host.Start(ctx, request, entry.Options(in))
}
