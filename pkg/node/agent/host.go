package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// hostSense knows what the node's systemd tells: the results of verbs, the facts of the host's files, and
// update_engine's status.
type hostSense struct {
	*Config
	seen          hostView
	engine        engineView
	failures      map[verb.Verb]time.Time    // when the last logged failure of a verb ended
	startFailures map[verb.Verb]startFailure // why the last start of a verb failed
	stageAgain    bool                       // the last staging no longer counts, as the keyring has changed
	installed     bool
	reboots       rebootRequests
}

func newHostSense(c *Config) *hostSense {
	h := &hostSense{Config: c, failures: map[verb.Verb]time.Time{}, startFailures: map[verb.Verb]startFailure{}}
	h.engine.ask.Store(true)
	return h
}

// rebootRequests is what came of the requests for a reboot in this attempt.
type rebootRequests struct {
	triedAt time.Time // when this agent first tried to request it
	askedAt time.Time // when it was requested last
	problem error     // why the last request was refused
	// stoppingSince is since when the host shuts down, as was first seen; zero: it does not.
	stoppingSince time.Time
}

// noteStopping notes whether a host that is to reboot shuts down. The system bus may stop before the rest of it: what
// was seen then counts.
func (h *hostSense) noteStopping(ctx context.Context, r *round) {
	if r.state.Step != v1alpha1.StepRebooting {
		return
	}
	stopping, err := h.Host.IsStopping(ctx)
	switch since := &h.reboots.stoppingSince; {
	case err != nil:
	case !stopping:
		*since = time.Time{}
	case since.IsZero():
		*since = r.Now
	}
	r.StoppingSince = h.reboots.stoppingSince
}

// add adds what is known of the host. What cannot be read is left out, with the reason.
func (h *hostSense) add(ctx context.Context, r *round) {
	r.RebootTriedAt, r.RebootAskedAt = h.reboots.triedAt, h.reboots.askedAt
	if problem := h.reboots.problem; problem != nil {
		r.RebootProblem, r.RebootReason = problem.Error(), host.ReasonOf(problem, v1alpha1.ReasonRebootFailed)
	}
	if r.node == nil {
		r.HostProblem = "this node's Node object does not exist"
		return
	}
	h.noteStopping(ctx, r)
	if err := h.read(ctx, r); err != nil {
		r.Host, r.HostProblem = nil, err.Error()
	}
}

// read reads the verbs' results, and gathers facts again if a verb has ended since, or
// another upgrade is requested: machine must not get new results with old facts, and an
// upgrade must not begin with facts from before it.
func (h *hostSense) read(ctx context.Context, r *round) error {
	if ready, err := h.takeOver(ctx, r); err != nil || !ready {
		return err
	}
	r.Work = map[verb.Verb]machine.Work{}
	var after strings.Builder
	if r.Managed {
		after.WriteString("managed ")
	}
	if upgrade := r.Spec.Upgrade; upgrade != nil {
		after.WriteString(upgrade.UID)
	}
	for _, entry := range verb.Table {
		if !entry.ChangesFacts {
			continue
		}
		last, err := h.readWork(ctx, entry.Verb, r)
		if err != nil {
			return err
		}
		if last != nil {
			fmt.Fprintf(&after, " %s@%d", entry.Verb, last.FinishedAt.UnixNano())
		}
	}
	if err := h.gather(ctx, r, after.String()); err != nil {
		return err
	}
	h.readUpdateEngine(ctx)
	if h.seen.facts == nil || h.seen.after != after.String() {
		return nil
	}
	r.Host = hostOf(*h.seen.facts, h.engine.status)
	r.Host.At, r.Host.ConfigurationChanged = h.seen.at, h.seen.configurationChanged
	return h.readControlPlaneWork(ctx, r)
}

// readControlPlaneWork reads the results of verbs that run on control planes only. Those that change facts were read before
// the facts: one that has ended since is not read with facts from before its end.
func (h *hostSense) readControlPlaneWork(ctx context.Context, r *round) error {
	if !r.Host.ControlPlane {
		return nil
	}
	for _, entry := range verb.Table {
		if !entry.ControlPlane || entry.ChangesFacts {
			continue
		}
		last, err := h.readWork(ctx, entry.Verb, r)
		if err != nil {
			return err
		}
		if entry.Verb == verb.Snapshot && last != nil && last.OK {
			h.readEtcdSnapshot(last, r)
		}
	}
	return nil
}

// readWork reads a verb's state and last result.
func (h *hostSense) readWork(ctx context.Context, v verb.Verb, r *round) (last *verb.Result, err error) {
	running, last, err := h.Host.Last(ctx, v)
	if err != nil {
		return nil, err
	}
	work := machine.Work{Running: running, StartFailure: h.startFailures[v].StartFailure}
	if last != nil {
		work.Result = *last
	}
	if v == verb.Stage && h.stageAgain {
		work.Key = ""
	}
	r.Work[v] = work
	h.logFailure(ctx, last)
	return last, nil
}

// logFailure logs each failed run of a verb once.
func (h *hostSense) logFailure(ctx context.Context, last *verb.Result) {
	if last == nil || last.OK || h.failures[last.Verb].Equal(last.FinishedAt) {
		return
	}
	h.failures[last.Verb] = last.FinishedAt
	h.Log.WarnContext(ctx, "host verb failed", "node", h.Node, "verb", last.Verb, "key", last.Key, "reason", last.Reason, "message", last.Message)
}

// takeOver installs the program that verbs run, if the node is managed or an attempt is in
// progress. It returns false while the verb "uninstall" removes what is there. Between
// attempts it installs nothing that the UpgradePolicy does not allow.
func (h *hostSense) takeOver(ctx context.Context, r *round) (bool, error) {
	running, _, err := h.Host.Last(ctx, verb.Uninstall)
	if err != nil || running {
		return false, err
	}
	between := machine.BetweenAttempts(r.state.Step)
	if h.installed || !r.Managed && between {
		return true, nil
	}
	if between {
		ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
		defer cancel()
		if policy, err := h.livePolicy(ctx); err != nil || rules.Policy(policy).Holds() {
			return true, nil // tried again by the next reconcile; the verbs say why
		}
	}
	if err := h.Install(); err != nil {
		return false, fmt.Errorf("installing the host's copy of the agent: %w", err)
	}
	h.installed = true
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

// readEtcdSnapshot reads the result of the verb snapshot, for the status.
func (h *hostSense) readEtcdSnapshot(last *verb.Result, r *round) {
	var out verb.SnapshotOutput
	if err := last.Decode(&out); err != nil {
		work := r.Work[verb.Snapshot]
		work.OK, work.Message = false, "what the snapshot left cannot be read: "+err.Error()
		r.Work[verb.Snapshot] = work
		return
	}
	r.EtcdSnapshot = &v1alpha1.EtcdSnapshot{
		Node: h.Node, Path: out.Path, Digest: v1alpha1.DigestOf(out.SHA256), CreationTime: *timeOf(out.TakenAt),
	}
}
