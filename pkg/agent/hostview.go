package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/hostverb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// How old facts may grow, and how soon they are asked for again.
const (
	factsAge      = 5 * time.Minute
	factsAgeAmiss = 15 * time.Second // while something is wrong that a person may put right
	factsRetry    = 10 * time.Second
)

// hostView is what the agent knows of the host's files.
type hostView struct {
	facts *host.Facts
	after string    // the work that facts were gathered after
	at    time.Time // when they were asked for
	asked question
	wrong string // why the last gathering failed
}

// question is one request for facts. Its key is never used twice: the answer to
// an older one may be from another boot.
type question struct {
	key   string
	after string
	at    time.Time
	open  bool
}

// lookAtHost reads what the verbs left and has the facts gathered again when one
// of them has ended since: the machine must not see new results with old facts.
func (a *Agent) lookAtHost(ctx context.Context, o *machine.Observation) error {
	if err := a.install(); err != nil {
		return err
	}
	o.Work = map[verb.Verb]machine.Work{}
	var after strings.Builder
	for _, entry := range hostverb.Table {
		if !entry.ChangesFacts {
			continue
		}
		last, err := a.lookAtWork(ctx, entry.Verb, o)
		if err != nil {
			return err
		}
		if last != nil {
			fmt.Fprintf(&after, " %s@%d", entry.Verb, last.FinishedAt.UnixNano())
		}
	}
	if err := a.gather(ctx, o.Now, after.String()); err != nil {
		return err
	}
	a.lookAtUpdateEngine(ctx)
	if a.seen.facts == nil || a.seen.after != after.String() {
		return nil
	}
	o.Host = hostOf(*a.seen.facts, a.engine.status)
	o.Host.At = a.seen.at
	return a.lookAtControlPlane(ctx, o)
}

// lookAtControlPlane reads what the verbs left that run on control planes alone.
func (a *Agent) lookAtControlPlane(ctx context.Context, o *machine.Observation) error {
	if !o.Host.ControlPlane {
		return nil
	}
	for _, entry := range hostverb.Table {
		if !entry.ControlPlane {
			continue
		}
		last, err := a.lookAtWork(ctx, entry.Verb, o)
		if err != nil {
			return err
		}
		if entry.Verb == verb.Snapshot && last != nil && last.OK {
			a.lookAtSnapshot(last, o)
		}
	}
	return nil
}

// lookAtWork reads what a verb left.
func (a *Agent) lookAtWork(ctx context.Context, v verb.Verb, o *machine.Observation) (last *host.Result, err error) {
	running, last, err := a.Host.Last(ctx, v)
	if err != nil {
		return nil, err
	}
	work := machine.Work{Running: running, Problem: a.problems[v]}
	if last != nil {
		work.Key, work.OK, work.Reason, work.FinishedAt = last.Key, last.OK, last.Reason, last.FinishedAt
		work.Message, work.Log = last.Message, last.LogTail
	}
	o.Work[v] = work
	a.logFailure(ctx, last)
	return last, nil
}

// logFailure tells once of work that failed, whether the machine makes anything
// of it or not.
func (a *Agent) logFailure(ctx context.Context, last *host.Result) {
	if last == nil || last.OK || a.failures[last.Verb].Equal(last.FinishedAt) {
		return
	}
	a.failures[last.Verb] = last.FinishedAt
	a.Log.WarnContext(ctx, "host verb failed", "node", a.Node, "verb", last.Verb, "key", last.Key, "reason", last.Reason, "message", last.Message)
}

func (a *Agent) install() error {
	if a.installed {
		return nil
	}
	if err := a.Install(); err != nil {
		return fmt.Errorf("installing the host's copy of the agent: %w", err)
	}
	a.installed = true
	return nil
}

// gather takes in facts that were asked for, and asks when they are too old.
// Old facts stand until the new ones are there, unless work has ended since.
func (a *Agent) gather(ctx context.Context, now time.Time, after string) error {
	running, last, err := a.Host.Last(ctx, verb.Facts)
	if err != nil || running {
		return err
	}
	seen := &a.seen
	if seen.asked.open && last != nil && last.Key == seen.asked.key {
		if err := seen.answer(last); err != nil {
			return err
		}
	}
	age := now.Sub(seen.asked.at)
	stale := seen.facts == nil || seen.after != after || age >= seen.maxAge() ||
		machine.NeedsFreshHost(a.state, seen.facts.ConfProblem) && seen.at.Before(a.state.Since)
	if (seen.asked.open || seen.wrong != "") && age < factsRetry {
		stale = false
	}
	if stale {
		return a.askForFacts(ctx, now, after)
	}
	if seen.wrong != "" {
		return errors.New(seen.wrong)
	}
	return nil
}

func (h *hostView) answer(last *host.Result) error {
	h.asked.open, h.wrong = false, ""
	if !last.OK {
		h.wrong = "gathering the host's facts: " + last.Message
		return nil
	}
	var facts host.Facts
	if err := last.Decode(&facts); err != nil {
		return fmt.Errorf("reading the host's facts: %w", err)
	}
	h.facts, h.after, h.at = &facts, h.asked.after, h.asked.at
	return nil
}

func (a *Agent) askForFacts(ctx context.Context, now time.Time, after string) error {
	key := now.UTC().Format(time.RFC3339Nano)
	if err := a.start(ctx, verb.Facts, key, hostverb.Order{}); err != nil {
		return err
	}
	a.seen.asked = question{key: key, after: after, at: now, open: true}
	return nil
}

func (h *hostView) maxAge() time.Duration {
	if h.facts.ConfProblem != "" || h.facts.Armed || !h.facts.Supported {
		return factsAgeAmiss
	}
	return factsAge
}

func hostOf(f host.Facts, updateEngine string) *machine.Host {
	rebootRequired, rebootReason := osReboot(f, updateEngine)
	return &machine.Host{
		BootID: f.BootID, Supported: f.Supported, UnsupportedReason: f.UnsupportedReason,
		Installed: f.Installed, Active: f.Active, Merged: f.Merged,
		KubeadmVersion: f.Kubeadm.Version,
		ControlPlane:   f.ControlPlane, ControlPlaneVersion: lowest(f.StaticPods),
		ConfProblem: f.ConfProblem, Armed: f.Armed,
		RebootRequired: rebootRequired, RebootReason: rebootReason, RefreshBlockers: f.Node.RefreshBlockers,
	}
}

// lowest is the oldest version among the control plane's manifests; empty where
// there is none, or one that is not a version.
func lowest(staticPods map[string]string) string {
	var low version.Version
	for _, component := range host.ControlPlaneComponents {
		tag, there := staticPods[component]
		if !there {
			continue
		}
		v, err := version.Parse(tag)
		if err != nil {
			return ""
		}
		if low == (version.Version{}) || v.Less(low) {
			low = v
		}
	}
	if low == (version.Version{}) {
		return ""
	}
	return low.String()
}
