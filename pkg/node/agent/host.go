package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// readHost reads the verbs' results, and gathers facts again if a verb has ended since, or
// another upgrade is requested: machine must not get new results with old facts, and an
// upgrade must not begin with facts from before it.
func (a *Agent) readHost(ctx context.Context, o *machine.Observation) error {
	if ready, err := a.takeOver(ctx, *o); err != nil || !ready {
		return err
	}
	o.Work = map[verb.Verb]machine.Work{}
	var after strings.Builder
	if o.Managed {
		after.WriteString("managed ")
	}
	if upgrade := o.Spec.Upgrade; upgrade != nil {
		after.WriteString(upgrade.UID)
	}
	for _, entry := range verb.Table {
		if !entry.ChangesFacts {
			continue
		}
		last, err := a.readWork(ctx, entry.Verb, o)
		if err != nil {
			return err
		}
		if last != nil {
			fmt.Fprintf(&after, " %s@%d", entry.Verb, last.FinishedAt.UnixNano())
		}
	}
	if err := a.gather(ctx, *o, after.String()); err != nil {
		return err
	}
	a.readUpdateEngine(ctx)
	if a.seen.facts == nil || a.seen.after != after.String() {
		return nil
	}
	o.Host = hostOf(*a.seen.facts, a.engine.status)
	o.Host.At = a.seen.at
	return a.readControlPlaneWork(ctx, o)
}

// readControlPlaneWork reads the results of verbs that run on control planes only.
func (a *Agent) readControlPlaneWork(ctx context.Context, o *machine.Observation) error {
	if !o.Host.ControlPlane {
		return nil
	}
	for _, entry := range verb.Table {
		if !entry.ControlPlane {
			continue
		}
		last, err := a.readWork(ctx, entry.Verb, o)
		if err != nil {
			return err
		}
		if entry.Verb == verb.Snapshot && last != nil && last.OK {
			a.readEtcdSnapshot(last, o)
		}
	}
	return nil
}

// readWork reads a verb's state and last result.
func (a *Agent) readWork(ctx context.Context, v verb.Verb, o *machine.Observation) (last *verb.Result, err error) {
	running, last, err := a.Host.Last(ctx, v)
	if err != nil {
		return nil, err
	}
	work := machine.Work{Running: running, StartFailure: a.startFailures[v].StartFailure}
	if last != nil {
		work.Result = *last
	}
	if v == verb.Stage && a.stageAgain {
		work.Key = ""
	}
	o.Work[v] = work
	a.logFailure(ctx, last)
	return last, nil
}

// logFailure logs each failed run of a verb once.
func (a *Agent) logFailure(ctx context.Context, last *verb.Result) {
	if last == nil || last.OK || a.failures[last.Verb].Equal(last.FinishedAt) {
		return
	}
	a.failures[last.Verb] = last.FinishedAt
	a.Log.WarnContext(ctx, "host verb failed", "node", a.Node, "verb", last.Verb, "key", last.Key, "reason", last.Reason, "message", last.Message)
}

// takeOver installs the program that verbs run, if the node is managed or an attempt is in
// progress. It returns false while the verb "uninstall" removes what is there. Between
// attempts it installs nothing that the UpgradePolicy does not allow.
func (a *Agent) takeOver(ctx context.Context, o machine.Observation) (bool, error) {
	running, _, err := a.Host.Last(ctx, verb.Uninstall)
	if err != nil || running {
		return false, err
	}
	between := machine.BetweenAttempts(a.state.Step)
	if a.installed || !o.Managed && between {
		return true, nil
	}
	if between {
		ctx, cancel := context.WithTimeout(ctx, gateTimeout)
		defer cancel()
		if policy, err := a.policy(ctx); err != nil || rules.Policy(policy).Holds() {
			return true, nil // tried again by the next reconcile; the verbs say why
		}
	}
	if err := a.Install(); err != nil {
		return false, fmt.Errorf("installing the host's copy of the agent: %w", err)
	}
	a.installed = true
	return true, nil
}

func hostOf(f verb.HostFacts, updateEngine string) *machine.Host {
	f.RebootRequired, f.RebootReason = osReboot(f, updateEngine)
	return &machine.Host{
		HostFacts: f, KubeadmVersion: kubeadmVersion(f), ControlPlaneVersion: lowest(f.StaticPods),
		OneAtATime: f.ControlPlane || f.EtcdMember,
	}
}

// lowest returns the oldest version among the control plane's manifests; empty
// if there is none, or one is not a version.
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

// kubeadmVersion returns the last version that kubeadm has completed. On a control plane it
// is at most that of the static pods: the record on the disk survives a restore or a
// downgrade by a person.
func kubeadmVersion(f verb.HostFacts) string {
	record, err := version.Parse(f.Kubeadm.Version)
	if err != nil || len(f.StaticPods) == 0 {
		return f.Kubeadm.Version
	}
	if pods := lowest(f.StaticPods); !version.Reached(pods, record) {
		return pods
	}
	return f.Kubeadm.Version
}

// How old facts may be, and how soon a failed request is repeated.
const (
	factsAge        = 5 * time.Minute
	factsAgeProblem = 15 * time.Second // while there is a problem that a person may fix, or the guard may act
	factsRetry      = 10 * time.Second
)

// hostView holds the last facts of the host's files.
type hostView struct {
	facts *verb.HostFacts
	after string    // the upgrade and the work that facts were gathered after
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

// gather takes the result of the last request, and requests facts again if they are too
// old. Old facts remain valid until then, unless a verb has ended or another upgrade was
// requested since.
func (a *Agent) gather(ctx context.Context, o machine.Observation, after string) error {
	running, last, err := a.Host.Last(ctx, verb.Facts)
	if err != nil || running {
		return err
	}
	seen := &a.seen
	if seen.asked.open && last != nil && last.Key == seen.asked.key {
		if err := seen.answer(last); err != nil {
			return err
		}
		a.engine.ask.Store(true) // so that its status is no older than the facts
	}
	age := o.Now.Sub(seen.asked.at)
	stale := seen.facts == nil || seen.wrong != "" || seen.after != after || age >= seen.maxAge() ||
		seen.at.Before(machine.HostSince(a.state, o, seen.facts.ConfProblem))
	if (seen.asked.open || seen.wrong != "") && age < factsRetry {
		stale = false
	}
	if stale {
		return a.requestFacts(ctx, o.Now, after)
	}
	if seen.wrong != "" {
		return errors.New(seen.wrong)
	}
	return nil
}

func (h *hostView) answer(last *verb.Result) error {
	h.asked.open, h.wrong = false, ""
	if !last.OK {
		h.wrong = "gathering the host's facts: " + last.Message
		return nil
	}
	var facts verb.HostFacts
	if err := last.Decode(&facts); err != nil {
		return fmt.Errorf("reading the host's facts: %w", err)
	}
	h.facts, h.after, h.at = &facts, h.asked.after, h.asked.at
	return nil
}

func (a *Agent) requestFacts(ctx context.Context, now time.Time, after string) error {
	key := now.UTC().Format(time.RFC3339Nano)
	if err := a.start(ctx, verb.Facts, key, verb.Input{}, false); err != nil {
		return err
	}
	a.seen.asked = question{key: key, after: after, at: now, open: true}
	return nil
}

// maxAge returns how old the facts may be. The node's definitions matter only where
// Kubernetes comes as a sysext image.
func (h *hostView) maxAge() time.Duration {
	problem := h.facts.Supported && (h.facts.ConfProblem != "" || h.facts.MissingImage != "" || h.facts.Armed)
	if problem || h.facts.Guarded || h.facts.KubeletProblem != "" {
		return factsAgeProblem
	}
	return factsAge
}
