package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
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
			a.readSnapshot(last, o)
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
		work.Key, work.OK, work.Reason, work.FinishedAt = last.Key, last.OK, last.Reason, last.FinishedAt
		work.Message, work.Log = last.Message, last.LogTail
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
		if hold, err := a.policyHold(ctx); err != nil || hold.Holds() {
			return true, nil // tried again by the next reconcile; the verbs say why
		}
	}
	if err := a.Install(); err != nil {
		return false, fmt.Errorf("installing the host's copy of the agent: %w", err)
	}
	a.installed = true
	return true, nil
}

func hostOf(f host.Facts, updateEngine string) *machine.Host {
	rebootRequired, rebootReason := osReboot(f, updateEngine)
	seen := &machine.Host{
		BootID: f.BootID, SoftReboots: f.SoftReboots, SoftRebootProblem: f.Node.SoftRebootProblem,
		Supported: f.Supported, UnsupportedReason: f.UnsupportedReason,
		Installed: f.Installed, Active: f.Active, Merged: f.Merged, MissingImage: f.MissingImage,
		KubeadmVersion: kubeadmVersion(f),
		ControlPlane:   f.ControlPlane, OneAtATime: f.ControlPlane || f.EtcdMember, ControlPlaneVersion: lowest(f.StaticPods),
		ConfProblem: f.ConfProblem, Armed: f.Armed, KubeletProblem: f.KubeletProblem,
		RebootRequired: rebootRequired, RebootReason: rebootReason, RefreshBlockers: f.Node.RefreshBlockers,
		HasFiles: f.HasFiles, Guarded: f.Guarded,
	}
	if r := f.Rollback; r != nil {
		seen.Rollback = &machine.Rollback{
			Upgrade: r.Upgrade, From: r.From, To: r.To, Finished: !r.FinishedAt.IsZero(), Impossible: r.Impossible, Message: r.Message, Log: r.Log,
		}
	}
	return seen
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
func kubeadmVersion(f host.Facts) string {
	record, err := version.Parse(f.Kubeadm.Version)
	if err != nil || len(f.StaticPods) == 0 {
		return f.Kubeadm.Version
	}
	if pods := lowest(f.StaticPods); !version.Reached(pods, record) {
		return pods
	}
	return f.Kubeadm.Version
}
