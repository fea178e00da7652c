package agent

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// Pauses between reconciles, unless a watch reports a change earlier.
const (
	afterAction   = time.Second // even if no watch reports what the action changed
	afterConflict = 200 * time.Millisecond
	afterError    = time.Second      // doubled up to maxPause
	maxPause      = 30 * time.Second // also the longest requeueAfter, as facts expire
	maxSteps      = 64               // steps in one reconcile
)

// reconcile runs steps until the node has to wait, and returns for how long at most.
func (a *Agent) reconcile(ctx context.Context) time.Duration {
	var open openRules
	for range maxSteps {
		r, err := a.observe(ctx, &open)
		if err != nil {
			return a.backoff(ctx, "observing", err)
		}
		next, action := machine.Next(a.state, r.Observation)
		stepChanged := next.Step != a.state.Step
		a.move(ctx, next, r)
		a.drain.watchIfNeeded(ctx, r)
		if stepChanged && action.Do == machine.DoNothing {
			continue // this step is written with what follows
		}
		err = a.report.persist(ctx, r, action)
		if err != nil && !a.report.mayActUnwritten(ctx, r, action, err) {
			return a.backoff(ctx, "writing the status", err)
		}
		if err != nil && !errors.Is(err, errNoNodeUpgrade) && ctx.Err() == nil {
			a.Log.WarnContext(ctx, "writing the status", "node", a.Node, "step", a.state.Step, "error", err, "nextAction", action.String())
		}
		a.kubelet.show(ctx, r)
		if action.Do == machine.DoNothing {
			a.report.writeInventory(ctx, r)
			a.failuresInRow = 0
			return a.requeueAfter(r, action.Wake)
		}
		goesOn, err := a.act(ctx, action, r)
		a.report.failing.record(action.Do, r.Now, err)
		if err != nil {
			return a.backoff(ctx, "step "+string(a.state.Step)+", action "+action.String(), err)
		}
		a.failuresInRow = 0
		if goesOn {
			continue
		}
		if action.Do == machine.DoDrain || action.Do == machine.DoLook {
			return a.requeueAfter(r, action.Wake)
		}
		return afterAction
	}
	a.Log.ErrorContext(ctx, "reconciling without reaching a stable state", "node", a.Node, "step", a.state.Step)
	return afterError
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
func (a *Agent) requeueAfter(r *round, wake time.Time) time.Duration {
	longest := maxPause
	if !a.report.changedAt.IsZero() {
		longest = max(afterError, a.report.changedAt.Add(a.report.writesWithin()).Sub(r.Now)) // not 0: the write may have failed
	}
	if !a.kubelet.shown.plannedAt.IsZero() {
		longest = min(longest, writeWithin)
	}
	switch {
	case r.Host == nil:
		longest = min(longest, factsRetry)
	case a.whole.asks:
		longest = min(longest, a.whole.age(r.Now))
	case r.Parts == nil && machine.NeedsParts(a.state):
		longest = min(longest, wholeAge)
	case machine.NeedsLease(a.state, r.Observation):
		longest = min(longest, leaseAge)
	case r.wantsEtcd:
		longest = min(longest, etcdAge)
	}
	if wake.IsZero() {
		return longest
	}
	return max(0, min(wake.Sub(a.Now()), longest))
}

// move sets the State, and logs and records a change of the step.
func (a *Agent) move(ctx context.Context, next machine.State, r *round) {
	before := a.state
	a.state, r.state = next, next
	if before.Step == next.Step {
		if next.Reason == v1alpha1.ReasonDrainBlocked && before.Reason != next.Reason {
			a.record(Event{Type: corev1.EventTypeWarning, Reason: "UpgradeDrainBlocked", Message: next.Message})
		}
		return
	}
	a.report.failing = failedWrite{}
	if machine.BetweenAttempts(next.Step) || next.Step == v1alpha1.StepDraining || next.Step == v1alpha1.StepRebooting {
		a.host.reboots, a.etcd.dueSince = rebootRequests{}, time.Time{}
		a.drain.begin()
	}
	t := Transition{
		Node: a.Node, Upgrade: next.Upgrade.Name, Version: r.Spec.Version,
		From: before.Step, To: next.Step, Reason: next.Reason, Message: next.Message,
	}
	if !before.Since.IsZero() {
		t.Took = r.Now.Sub(before.Since)
	}
	t.Log(ctx, a.Log)
	if before.Step != "" && (next.Step.Info().Event || next.MethodMessage != "" && next.MethodMessage != before.MethodMessage) {
		a.record(StepEvent(t))
	}
}

// record records an event on the Node.
func (a *Agent) record(e Event) {
	if node := a.kubelet.node(); node != nil {
		a.Events.Record(string(node.UID), e)
	}
}

// loadState restores the State from the last agent's status. It reads live: a watch's first
// list may be older than the last write, with which the node rebooted. It returns false if
// ctx ended first.
func (a *Agent) loadState(ctx context.Context) bool {
	for ctx.Err() == nil {
		nu, err := a.Upgrades.NodeUpgrades.Get(ctx, a.Node, metav1.GetOptions{})
		switch {
		case err == nil && ofFormerNode(nu, a.kubelet.node()):
			return true // the coordinator is about to delete it
		case err == nil:
			a.state, a.report.generation = stateOf(nu.Status), max(0, nu.Status.ObservedGeneration)
			a.report.last.status.Conditions = nu.Status.Conditions
			return true
		case apierrors.IsNotFound(err):
			return true
		}
		a.Log.WarnContext(ctx, "reading the last status", "node", a.Node, "error", err)
		sleep(ctx, afterError)
	}
	return false
}
