package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// A node whose hooks have begun has a turn. Before its turn ends, the hooks after it run, whatever
// happened: nothing that a hook has set stays. Turns are in the policy's status, so that they
// outlive Nodes, NodeUpgrades and ClusterUpgrades. A hook is Running there before its Job is created,
// and its end is there before its Job may go: so no hook runs twice.

// The API's limits on a hook's message, and on its reason and the version before. One text that is too
// long would keep the whole status from being written.
const (
	maxHookMessage = 512
	maxHookText    = 64
)

// overdueAfter is how long after its deadline a Job counts as failed that has not been ended.
const overdueAfter = time.Minute

// noteJob notes what has come of a hook's Job.
func (r *reading) noteJob(run *v1alpha1.HookRun) {
	if run.State != v1alpha1.HookRunning {
		return
	}
	jobs := r.snapshot.HookJobs
	job, known := jobs[run.Job]
	if jobs != nil { // else the stored one stays: the plugin does not read Jobs
		run.Message = shorten(job.Problem, maxHookMessage)
	}
	switch {
	case job.Refused && run.JobUID == "" && r.snapshot.Policy.Hook(run.Name) == nil:
		r.endHook(run, v1alpha1.HookFailed, "Removed", "the policy has it no more, and its Job could not be created: "+job.Problem)
		return
	case job.UID != "" && run.JobUID != "" && job.UID != run.JobUID, jobs != nil && !known && run.JobUID != "":
		r.endHook(run, v1alpha1.HookFailed, "JobGone", "its Job was deleted, and what came of it is not known")
		return
	case job.UID != "" && run.JobUID == "":
		run.JobUID, run.StartTime = job.UID, wholeSecond(r.now)
	}
	switch {
	case job.Ended && job.Succeeded:
		r.endHook(run, v1alpha1.HookSucceeded, "", "")
	case job.Ended:
		r.endHook(run, v1alpha1.HookFailed, job.Reason, job.Message)
	case job.Deleted:
		r.endHook(run, v1alpha1.HookFailed, "JobDeleted", "its Job was deleted before it ended")
	case (run.JobUID != "" || run.GivesUp() || r.snapshot.Policy.Hook(run.Name) == nil && job.Problem != "") && r.now.After(run.Deadline().Add(overdueAfter)):
		message := fmt.Sprintf("its Job did not end within %d s", run.TimeoutSeconds)
		if run.JobUID == "" {
			message = fmt.Sprintf("its Job could not be created within %d s: %s", run.TimeoutSeconds, job.Problem)
		}
		r.endHook(run, v1alpha1.HookFailed, "Timeout", message)
	}
}

func (r *reading) endHook(run *v1alpha1.HookRun, state v1alpha1.HookState, reason, message string) {
	run.State, run.EndTime = state, wholeSecond(r.now)
	run.Reason, run.Message = shorten(reason, maxHookText), shorten(message, maxHookMessage)
}

// retryHooks has hooks of the turn run again that failed before a person retried the upgrade, and reports whether
// there are any. Those before a node or an upgrade do not once its turn has ended: it gets another one.
func (r *reading) retryHooks(t *v1alpha1.HookTurn) (retried bool) {
	for i := range t.Hooks {
		run := &t.Hooks[i]
		by := r.retryOf(run)
		switch {
		case by == "":
			continue
		case run.When.IsBefore() && t.Outcome != "":
			run.State = v1alpha1.HookSkipped
		default:
			run.State, run.Attempt, run.Job, run.JobUID, run.EndTime = v1alpha1.HookPending, run.Attempt+1, "", "", nil
		}
		run.RetriedBy, retried = by, true
	}
	return retried
}

// retryOf returns the UID of the upgrade with which a person has retried a hook since it failed; empty: there
// is none. It is the newest retry, unless that was there when the hook's turn began, or has retried it before: by the
// times alone, which are of two clocks, a hook that fails at once would run again by itself.
func (r *reading) retryOf(run *v1alpha1.HookRun) string {
	newest := r.newestRetry()
	if newest == nil || run.State != v1alpha1.HookFailed || newest.CreationTimestamp.Before(run.EndTime) || string(newest.UID) == run.RetriedBy {
		return ""
	}
	return string(newest.UID)
}

// newestRetry returns the newest upgrade that retries another one and has not ended. Nil: there is none.
func (r *reading) newestRetry() (newest *v1alpha1.ClusterUpgrade) {
	for i := range r.snapshot.Upgrades {
		u := &r.snapshot.Upgrades[i]
		if u.Spec.RetryOf != nil && u.Status.Outcome == "" && (newest == nil || newest.CreationTimestamp.Before(&u.CreationTimestamp)) {
			newest = u
		}
	}
	return newest
}

// hooksOf returns the policy's hooks for a node's turn, or the upgrade's without a node, in the order
// in which they run.
func (r *reading) hooksOf(n *node) []v1alpha1.HookRun {
	points := []v1alpha1.HookPoint{v1alpha1.BeforeUpgrade, v1alpha1.AfterUpgrade}
	if n != nil {
		points = []v1alpha1.HookPoint{v1alpha1.BeforeNode, v1alpha1.NodeFailed, v1alpha1.AfterNode}
	}
	var list []v1alpha1.HookRun
	for _, point := range points {
		for _, hook := range r.policySpec().Hooks {
			if hook.When == point && (n == nil || selectsNode(hook.NodeSelector, n)) {
				list = append(list, v1alpha1.HookRun{Name: hook.Name, When: point, CronJobName: hook.CronJobName, TimeoutSeconds: hook.TimeoutSeconds, State: v1alpha1.HookPending})
			}
		}
	}
	return list
}

// selectsNode reports whether a hook's selector matches the node. An invalid one matches every node.
func selectsNode(s *v1alpha1.LabelSelector, n *node) bool {
	selector, err := readSelector(s)
	return err != nil || selector.Matches(labels.Set(n.Labels))
}

// hookFailed holds every node after a hook has failed, and while the upgrade is being replaced by the
// one that retries it.
func hookFailed(s *survey, _ *node) clusterstate.Hold {
	if s.cluster.turns.retried && !s.cluster.target.forLateNodes {
		return clusterstate.Hold{Reason: v1alpha1.ReasonHookFailed, Message: "a hook failed, and a person has retried it now"}
	}
	return s.cluster.turns.failedHold()
}

// failedHold returns the hold of every node while a failed hook holds them.
func (all turns) failedHold() clusterstate.Hold {
	for _, t := range all.list {
		if run := all.failed(t); run != nil {
			return all.failedRunHold(t, run)
		}
	}
	return clusterstate.Hold{}
}

// failedRunHold names the upgrade to retry: the one that waits, or else the one in which the hook failed.
func (all turns) failedRunHold(t *v1alpha1.HookTurn, run *v1alpha1.HookRun) clusterstate.Hold {
	version, upgrade := t.Version, t.Upgrade.Name
	if all.target != nil && !all.target.forLateNodes {
		version, upgrade = all.target.Spec.Version, all.target.Name
	}
	message := fmt.Sprintf("%s failed (%s): %s; ", describe(t, run), run.Reason, run.Message)
	if run.JobUID != "" {
		message += showLog(run) + ", and "
	}
	switch {
	case version == "":
		kind := v1alpha1.TypeReboot
		if t.Release == v1alpha1.ReleaseControlPlane {
			kind = v1alpha1.TypeCertificates
		}
		message += fmt.Sprintf("a ClusterUpgrade of type %s with spec.retryOf.name: %s runs it again", kind, upgrade)
	case all.target != nil && all.target.back:
		message += fmt.Sprintf("the same `kubectl upgrade rollback` with --to %s --retry runs it again", version)
	default:
		message += fmt.Sprintf("`kubectl upgrade apply %s --retry` runs it again", version)
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonHookFailed, Message: message, Stays: true}
}

// FailedHook returns the hold of every node of the next upgrade because of a hook that failed.
func FailedHook(policy *v1alpha1.UpgradePolicy) clusterstate.Hold {
	if policy == nil {
		return clusterstate.Hold{}
	}
	all := turns{reading: &reading{snapshot: &clusterstate.Snapshot{Policy: policy}}}
	for i := range policy.Status.HookTurns {
		all.list = append(all.list, &policy.Status.HookTurns[i])
	}
	return all.failedHold()
}

// runningHold returns the hold of a node, or an upgrade, that waits for a hook.
func runningHold(t *v1alpha1.HookTurn, run *v1alpha1.HookRun, now time.Time) clusterstate.Hold {
	if run.State == v1alpha1.HookPending {
		return clusterstate.Hold{Reason: v1alpha1.ReasonHookRunning, Message: describe(t, run) + " is about to run"}
	}
	message := fmt.Sprintf("%s has run since %s; %s", describe(t, run), clusterstate.FormatTime(run.StartTime.Time), showLog(run))
	deadline := run.Deadline()
	hold := clusterstate.Hold{Reason: v1alpha1.ReasonHookRunning, Message: message, Until: &deadline}
	switch {
	case run.Message != "" && run.JobUID != "":
		hold.Message += "; " + run.Message
	case run.Message != "":
		hold.Message = fmt.Sprintf("%s has not been able to start since %s: %s", describe(t, run), clusterstate.FormatTime(run.StartTime.Time), run.Message)
	}
	if run.JobUID == "" && !run.GivesUp() {
		hold.Until, hold.Stays = nil, hasLasted(&run.StartTime.Time, now)
	}
	return hold
}

func describe(t *v1alpha1.HookTurn, run *v1alpha1.HookRun) string {
	of := "upgrade " + t.Upgrade.Name
	if t.Node != "" {
		of = "node " + t.Node
	}
	return fmt.Sprintf("hook %s (%s of %s)", run.Name, run.When, of)
}

func showLog(run *v1alpha1.HookRun) string {
	return fmt.Sprintf("`kubectl -n %s logs job/%s` shows its log", v1alpha1.HooksNamespace, run.Job)
}
