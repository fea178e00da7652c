package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Pauses between reconciles, unless a watch reports a change earlier.
const (
	afterAction   = time.Second // even if no watch reports what the action changed
	afterConflict = 200 * time.Millisecond
	afterError    = time.Second      // doubled up to maxPause
	maxPause      = 30 * time.Second // also the longest requeueAfter, as facts expire
	maxSteps      = 64               // steps in one reconcile
	maxEvent      = 1024             // bytes of an event's message
)

// reconcile runs steps until the node has to wait, and returns for how long at most.
func (a *Agent) reconcile(ctx context.Context) time.Duration {
	a.open.now = false
	for range maxSteps {
		o, err := a.observe(ctx)
		if err != nil {
			return a.backoff(ctx, "observing", err)
		}
		next, action := machine.Next(a.state, o)
		stepChanged := next.Step != a.state.Step
		a.move(ctx, next, o)
		a.watchPodsIfNeeded(ctx, o)
		if stepChanged && action.Do == machine.DoNothing {
			continue // this step is written with what follows
		}
		err = a.persist(ctx, o, a.failingWrite.problem(a.state, action.Do, a.Now()), a.mayWriteLater(action, o))
		if err != nil && !a.mayActUnwritten(ctx, action, err) {
			return a.backoff(ctx, "writing the status", err)
		}
		if err != nil && !errors.Is(err, errNoNodeUpgrade) && ctx.Err() == nil {
			a.Log.WarnContext(ctx, "writing the status", "node", a.Node, "step", a.state.Step, "error", err, "nextAction", action.String())
		}
		a.showConditions(ctx, o)
		if action.Do == machine.DoNothing {
			a.writeInventory(ctx, o)
			a.failuresInRow = 0
			return a.requeueAfter(o, action.Wake)
		}
		err = a.act(ctx, action, o)
		a.failingWrite.record(action.Do, o.Now, err)
		if err != nil {
			return a.backoff(ctx, "step "+string(a.state.Step)+", action "+action.String(), err)
		}
		a.failuresInRow = 0
		if a.goesOn(action.Do) {
			continue
		}
		if action.Do == machine.DoDrain || action.Do == machine.DoLook {
			return a.requeueAfter(o, action.Wake)
		}
		return afterAction
	}
	a.Log.ErrorContext(ctx, "reconciling without reaching a stable state", "node", a.Node, "step", a.state.Step)
	return afterError
}

// mayActUnwritten reports whether an action may be done though the State was not written.
// Without a NodeUpgrade the node still goes back into service: the coordinator that would
// create the NodeUpgrade may itself wait for this cordoned node. That there is none is read
// live: a watch's first list may be from before it was created.
func (a *Agent) mayActUnwritten(ctx context.Context, action machine.Action, err error) bool {
	entry, isVerb := verb.Lookup(action.Verb)
	switch {
	case isVerb:
		return entry.NeedsNoState
	case !errors.Is(err, errNoNodeUpgrade):
		return false
	case action.Do.BringsBack():
		nu, err := a.Upgrades.NodeUpgrades.Get(ctx, a.Node, metav1.GetOptions{})
		return apierrors.IsNotFound(err) || err == nil && ofFormerNode(nu, a.node())
	}
	return action.Do == machine.DoNothing
}

// backoff logs an error and returns when to retry.
func (a *Agent) backoff(ctx context.Context, doing string, err error) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	first := afterError
	if apierrors.IsConflict(err) {
		first = afterConflict // another client wrote, and the watch will show what
	}
	pause := min(first<<min(a.failuresInRow, 10), maxPause)
	a.failuresInRow++
	a.Log.WarnContext(ctx, doing, "node", a.Node, "error", err, "retryAfter", pause)
	return pause
}

// requeueAfter returns how long to wait until wake, or the longest pause, or until a change
// of the status has to be written.
func (a *Agent) requeueAfter(o machine.Observation, wake time.Time) time.Duration {
	longest := maxPause
	if !a.changedAt.IsZero() {
		longest = max(afterError, a.changedAt.Add(a.writesWithin()).Sub(o.Now)) // not 0: the write may have failed
	}
	if !a.conditions.plannedAt.IsZero() {
		longest = min(longest, writeWithin)
	}
	switch {
	case o.Host == nil:
		longest = min(longest, factsRetry)
	case machine.NeedsLease(a.state, o):
		longest = min(longest, leaseAge)
	case a.etcd.wanted:
		longest = min(longest, etcdAge)
	}
	if wake.IsZero() {
		return longest
	}
	return max(0, min(wake.Sub(a.Now()), longest))
}

// move sets the State, and logs and records a change of the step.
func (a *Agent) move(ctx context.Context, next machine.State, o machine.Observation) {
	before := a.state
	a.state = next
	if before.Step == next.Step {
		if next.Reason == v1alpha1.ReasonDrainBlocked && before.Reason != next.Reason {
			a.record(Event{Type: corev1.EventTypeWarning, Reason: "UpgradeDrainBlocked", Message: next.Message})
		}
		return
	}
	a.failingWrite = failedWrite{}
	if machine.BetweenAttempts(next.Step) || next.Step == v1alpha1.StepDraining || next.Step == v1alpha1.StepRebooting {
		a.rebootTriedAt, a.rebootAt, a.rebootProblem, a.etcd.dueSince = time.Time{}, time.Time{}, nil, time.Time{}
		a.drained, a.ending, a.volumes = nil, nil, nil
		a.drainer.Begin(a.daemonSets)
	}
	t := Transition{
		Node: a.Node, Upgrade: next.Upgrade.Name, Version: o.Spec.Version,
		From: before.Step, To: next.Step, Reason: next.Reason, Message: next.Message,
	}
	if !before.Since.IsZero() {
		t.Took = o.Now.Sub(before.Since)
	}
	t.Log(ctx, a.Log)
	if before.Step != "" && next.Step.Info().Event {
		a.record(StepEvent(t))
	}
}

// record records an event on the Node.
func (a *Agent) record(e Event) {
	if node := a.node(); node != nil {
		a.Events.Record(string(node.UID), e)
	}
}

// noteRefused records an event on the Node when the API server refuses what this agent reports in an object, with the
// field that it names: the object itself cannot say so. Each answer is recorded once.
func (a *Agent) noteRefused(kind string, err error) {
	answer := ""
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsRequestEntityTooLargeError(err) {
		answer = err.Error()
	}
	if answer != "" && answer != a.refused[kind] {
		message := fmt.Sprintf("%s %s cannot be written: %s", kind, a.Node, answer)
		a.record(Event{Type: corev1.EventTypeWarning, Reason: string(v1alpha1.ReasonAPIWriteFailed), Message: host.Clip(message, maxEvent)})
	}
	if err == nil || answer != "" {
		a.refused[kind] = answer
	}
}

// watchPodsIfNeeded watches the node's pods while a step needs them: those that are evicted, and those of
// a control plane.
func (a *Agent) watchPodsIfNeeded(ctx context.Context, o machine.Observation) {
	if a.state.Step == v1alpha1.StepDraining || a.onControlPlane() && machine.NeedsHealth(a.state, o) {
		a.pods.start(ctx)
		return
	}
	a.pods.end()
}

// dialRetryPause is the pause before a read is retried, on average: agents that lost the API
// server at the same moment do not all come back at the same moment.
const dialRetryPause = 500 * time.Millisecond

// retryReads retries reads while the API server is unreachable, until their context ends.
// Without it a watch waits up to half a minute between two attempts, and would see that
// much later that the API server is back.
//
// It removes Retry-After from answers to writes: client-go would otherwise repeat a refused
// eviction for minutes, without reading the gate again.
func retryReads(next http.RoundTripper) http.RoundTripper {
	return readRetrier{next: next}
}

type readRetrier struct {
	next http.RoundTripper
}

func (p readRetrier) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		response, err := p.next.RoundTrip(r)
		if err == nil && r.Method != http.MethodGet {
			response.Header.Del("Retry-After")
		}
		if err == nil || r.Method != http.MethodGet || !notConnected(err) {
			return response, err
		}
		select {
		case <-r.Context().Done():
			return nil, err
		case <-time.After(dialRetryPause/2 + rand.N(dialRetryPause)): //nolint:gosec // no secret
		}
	}
}

// notConnected reports whether the connection failed, so that no request was sent.
func notConnected(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}
