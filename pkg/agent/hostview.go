package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// How old facts may grow, and how soon they are asked for again.
const (
	factsAge      = 5 * time.Minute
	factsAgeAmiss = 15 * time.Second // while something is wrong that a person may put right
	factsRetry    = 10 * time.Second
	factsMax      = time.Minute
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

// works are the verbs that change what the facts say.
var works = []host.Verb{host.VerbDisarm, host.VerbStage, host.VerbKubeadm, host.VerbActivate, host.VerbRestart}

// quietWorks change nothing that the facts say.
var quietWorks = []host.Verb{host.VerbPull, host.VerbSnapshot}

// lookAtHost reads what the verbs left and has the facts gathered again when one
// of them has ended since: the machine must not see new results with old facts.
func (a *Agent) lookAtHost(ctx context.Context, o *machine.Observation) error {
	if err := a.install(); err != nil {
		return err
	}
	into := map[host.Verb]*machine.Work{
		host.VerbDisarm: &o.Disarm, host.VerbStage: &o.Stage, host.VerbKubeadm: &o.Kubeadm,
		host.VerbActivate: &o.Activate, host.VerbRestart: &o.Restart,
	}
	var after strings.Builder
	for _, verb := range works {
		running, last, err := a.Host.Last(ctx, verb)
		if err != nil {
			return err
		}
		*into[verb] = workOf(running, last)
		a.logFailure(ctx, last)
		if last != nil {
			fmt.Fprintf(&after, " %s@%d", verb, last.FinishedAt.UnixNano())
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
	into := map[host.Verb]*machine.Work{host.VerbPull: &o.Pull, host.VerbSnapshot: &o.Snapshot}
	for _, verb := range quietWorks {
		running, last, err := a.Host.Last(ctx, verb)
		if err != nil {
			return err
		}
		*into[verb] = workOf(running, last)
		a.logFailure(ctx, last)
		if verb == host.VerbSnapshot && last != nil && last.OK {
			if o.EtcdSnapshot, err = a.snapshotOf(last); err != nil {
				o.Snapshot.OK, o.Snapshot.Message = false, "what the snapshot left cannot be read: "+err.Error()
			}
		}
	}
	return nil
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
	running, last, err := a.Host.Last(ctx, host.VerbFacts)
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
	request, err := host.NewRequest(host.VerbFacts, key, nil)
	if err != nil {
		return err
	}
	if err := a.Host.Start(ctx, request, host.Options{RuntimeMax: factsMax}); err != nil {
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

func workOf(running bool, last *host.Result) machine.Work {
	work := machine.Work{Running: running}
	if last != nil {
		work.Key, work.OK, work.Reason, work.FinishedAt = last.Key, last.OK, last.Reason, last.FinishedAt
		work.Message, work.Log = last.Message, last.LogTail
	}
	return work
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

// controlPlane are the static pods that kubeadm takes to its own version; etcd
// has another one.
var controlPlane = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// lowest is the oldest version among the control plane's manifests; empty where
// there is none, or one that is not a version.
func lowest(staticPods map[string]string) string {
	var low version.Version
	for _, component := range controlPlane {
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
