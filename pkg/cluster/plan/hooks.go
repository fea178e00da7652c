package plan

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// A node whose hooks have begun has a turn. Before its turn ends, the hooks after it run, whatever
// happened: nothing that a hook has set stays. Turns are in the policy's status, so that they
// outlive Nodes, NodeUpgrades and ClusterUpgrades. A hook is Running there before its Job is created,
// and its end is there before its Job may go: so no hook runs twice.

// maxTurns is how many turns there may be at a time.
const maxTurns = 128

// The API's limits on a hook's message, and on its reason and the version before. One text that is too
// long would keep the whole status from being written.
const (
	maxHookMessage = 512
	maxHookText    = 64
)

// hooks are the turns, as they change while a plan is made. Nil, as in a prediction, has none.
type hooks struct {
	reading *reading
	target  *target // the upgrade that nodes are planned for; nil: there is none
	turns   []*v1alpha1.HookTurn
	last    int64
	byNode  map[fleet.Owner]*v1alpha1.HookTurn // the newest turn of each node
	retried bool                               // a person has retried a failed hook now
}

// newHooks returns the turns of the policy's status, with what has come of their Jobs. Nil: there is
// no policy.
func newHooks(r *reading, target *target) *hooks {
	if r.snapshot.Policy == nil {
		return nil
	}
	h := &hooks{reading: r, target: target, last: r.snapshot.Policy.Status.LastHookTurn, byNode: map[fleet.Owner]*v1alpha1.HookTurn{}}
	for i := range r.snapshot.Policy.Status.HookTurns {
		t := r.snapshot.Policy.Status.HookTurns[i].DeepCopy()
		for i := range t.Hooks {
			h.note(&t.Hooks[i])
		}
		if t.Node == "" && t.Outcome == "" {
			t.Outcome = r.upgradeOutcome(t)
		}
		h.add(t)
	}
	h.retry()
	return h
}

func (h *hooks) add(t *v1alpha1.HookTurn) {
	h.turns = append(h.turns, t)
	if t.Node != "" {
		h.byNode[fleet.Owner{Node: t.Node, UID: t.NodeUID}] = t
	}
}

// overdueAfter is how long after its deadline a Job counts as failed that has not been ended.
const overdueAfter = time.Minute

// note notes what has come of a hook's Job.
func (h *hooks) note(run *v1alpha1.HookRun) {
	if run.State != v1alpha1.HookRunning {
		return
	}
	jobs := h.reading.snapshot.HookJobs
	job, known := jobs[run.Job]
	if jobs != nil { // else the stored one stays: the plugin does not read Jobs
		run.Message = shorten(job.Problem, maxHookMessage)
	}
	switch {
	case job.Refused && run.JobUID == "" && h.reading.snapshot.Policy.Hook(run.Name) == nil:
		h.end(run, v1alpha1.HookFailed, "Removed", "the policy has it no more, and its Job could not be created: "+job.Problem)
		return
	case job.UID != "" && run.JobUID != "" && job.UID != run.JobUID, jobs != nil && !known && run.JobUID != "":
		h.end(run, v1alpha1.HookFailed, "JobGone", "its Job was deleted, and what came of it is not known")
		return
	case job.UID != "" && run.JobUID == "":
		run.JobUID, run.StartTime = job.UID, wholeSecond(h.reading.now)
	}
	switch {
	case job.Ended && job.Succeeded:
		h.end(run, v1alpha1.HookSucceeded, "", "")
	case job.Ended:
		h.end(run, v1alpha1.HookFailed, job.Reason, job.Message)
	case job.Deleted:
		h.end(run, v1alpha1.HookFailed, "JobDeleted", "its Job was deleted before it ended")
	case (run.JobUID != "" || run.GivesUp() || h.reading.snapshot.Policy.Hook(run.Name) == nil && job.Problem != "") && h.reading.now.After(run.Deadline().Add(overdueAfter)):
		message := fmt.Sprintf("its Job did not end within %d s", run.TimeoutSeconds)
		if run.JobUID == "" {
			message = fmt.Sprintf("its Job could not be created within %d s: %s", run.TimeoutSeconds, job.Problem)
		}
		h.end(run, v1alpha1.HookFailed, "Timeout", message)
	}
}

// wake adds when Jobs are overdue.
func (h *hooks) wake(wake *wakeTime) {
	if h == nil {
		return
	}
	for _, t := range h.turns {
		if run := running(t); run != nil {
			overdue := run.Deadline().Add(overdueAfter)
			wake.at(&overdue)
		}
	}
}

func (h *hooks) end(run *v1alpha1.HookRun, state v1alpha1.HookState, reason, message string) {
	run.State, run.EndTime = state, wholeSecond(h.reading.now)
	run.Reason, run.Message = shorten(reason, maxHookText), shorten(message, maxHookMessage)
}

// retry has hooks run again that failed before a person retried the upgrade. Those before a node or an
// upgrade are not once its turn has ended: it gets another one.
func (h *hooks) retry() {
	for _, t := range h.turns {
		for i := range t.Hooks {
			run := &t.Hooks[i]
			by := h.retryOf(run)
			switch {
			case by == "":
				continue
			case run.When.IsBefore() && t.Outcome != "":
				run.State = v1alpha1.HookSkipped
			default:
				run.State, run.Attempt, run.Job, run.JobUID, run.EndTime = v1alpha1.HookPending, run.Attempt+1, "", "", nil
			}
			run.RetriedBy, h.retried = by, true
		}
	}
}

// retryOf returns the UID of the upgrade with which a person has retried a hook since it failed; empty: there
// is none. It is the newest retry, unless that was there when the hook's turn began, or has retried it before: by the
// times alone, which are of two clocks, a hook that fails at once would run again by itself.
func (h *hooks) retryOf(run *v1alpha1.HookRun) string {
	newest := h.reading.newestRetry()
	if newest == nil || run.State != v1alpha1.HookFailed || newest.CreationTimestamp.Before(run.EndTime) || string(newest.UID) == run.RetriedBy {
		return ""
	}
	return string(newest.UID)
}

// newestRetry returns the newest upgrade that retries another one and has not ended. Nil: there is none.
func (r *reading) newestRetry() (newest *v1alpha1.ClusterUpgrade) {
	for i := range r.snapshot.Upgrades {
		u := &r.snapshot.Upgrades[i]
		if u.Spec.RetryOf != "" && u.Status.Outcome == "" && (newest == nil || newest.CreationTimestamp.Before(&u.CreationTimestamp)) {
			newest = u
		}
	}
	return newest
}

// holds reports whether a failed hook holds nodes: as long as the policy has it, and it says so.
func (h *hooks) holds(run *v1alpha1.HookRun) bool {
	hook := h.reading.snapshot.Policy.Hook(run.Name)
	return run.State == v1alpha1.HookFailed && hook != nil && hook.OnFailure != v1alpha1.HookContinue
}

// of returns the node's turn that has hooks left. Nil: there is none.
func (h *hooks) of(n *node) *v1alpha1.HookTurn {
	if h == nil {
		return nil
	}
	if t := h.byNode[n.Owner()]; t != nil && isOpen(t) {
		return t
	}
	return nil
}

// isOpen reports whether hooks of the turn run or are still to run.
func isOpen(t *v1alpha1.HookTurn) bool { return t.Outcome == "" || nextHook(t) != nil }

// running returns the hook of the turn that runs. Nil: none does.
func running(t *v1alpha1.HookTurn) *v1alpha1.HookRun {
	i := slices.IndexFunc(t.Hooks, func(run v1alpha1.HookRun) bool { return run.State == v1alpha1.HookRunning })
	if i < 0 {
		return nil
	}
	return &t.Hooks[i]
}

// pending returns the first hook of that point that has not begun. Nil: there is none.
func pending(t *v1alpha1.HookTurn, point v1alpha1.HookPoint) *v1alpha1.HookRun {
	i := slices.IndexFunc(t.Hooks, func(run v1alpha1.HookRun) bool { return run.When == point && run.State == v1alpha1.HookPending })
	if i < 0 {
		return nil
	}
	return &t.Hooks[i]
}

// hooksOf returns the policy's hooks for a node's turn, or the upgrade's without a node, in the order
// in which they run.
func (h *hooks) hooksOf(n *node) []v1alpha1.HookRun {
	points := []v1alpha1.HookPoint{v1alpha1.BeforeUpgrade, v1alpha1.AfterUpgrade}
	if n != nil {
		points = []v1alpha1.HookPoint{v1alpha1.BeforeNode, v1alpha1.OnFailure, v1alpha1.AfterNode}
	}
	var list []v1alpha1.HookRun
	for _, point := range points {
		for _, hook := range h.reading.policySpec().Hooks {
			if hook.When == point && (n == nil || selectsNode(hook.NodeSelector, n)) {
				list = append(list, v1alpha1.HookRun{Name: hook.Name, When: point, CronJob: hook.CronJob, TimeoutSeconds: hook.TimeoutSeconds, State: v1alpha1.HookPending})
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

// begin begins a turn of a node, or of the upgrade without one. Nil: it has no hooks.
func (h *hooks) begin(target *target, n *node, release v1alpha1.Release) *v1alpha1.HookTurn {
	list := h.hooksOf(n)
	if len(list) == 0 {
		return nil
	}
	h.last++
	t := &v1alpha1.HookTurn{
		ID: h.last, Upgrade: target.Reference(), Version: target.Spec.Version, From: target.Status.FromVersion,
		BeginTime: *wholeSecond(h.reading.now), Hooks: list,
	}
	if retry := h.reading.newestRetry(); retry != nil {
		for i := range t.Hooks {
			t.Hooks[i].RetriedBy = string(retry.UID)
		}
	}
	if n != nil {
		t.Node, t.NodeUID, t.From, t.Release, t.Attempts = n.Name, n.UID, n.Kubelet, release, n.status.Retry.Attempts
		h.countUnused(t, n)
	}
	// Hooks read it, and a kubelet writes its own: it is a version or nothing.
	if from := parsed(t.From); known(from) {
		t.From = shorten(from.String(), maxHookText)
	} else {
		t.From = ""
	}
	h.add(t)
	return t
}

// start notes that the hook runs from now on. Its Job is created once that is stored.
func (h *hooks) start(t *v1alpha1.HookTurn, run *v1alpha1.HookRun) {
	run.State, run.StartTime, run.Reason, run.Message = v1alpha1.HookRunning, wholeSecond(h.reading.now), "", ""
	run.Job = jobName(h.reading.snapshot.Policy, t, run)
}

// jobName returns a name that no other run of a hook has, now or later.
func jobName(policy *v1alpha1.UpgradePolicy, t *v1alpha1.HookTurn, run *v1alpha1.HookRun) string {
	parts := []string{string(policy.UID), t.Upgrade.UID, t.NodeUID, fmt.Sprint(t.ID), run.Name, fmt.Sprint(run.Attempt)}
	sum := sha256.Sum256([]byte(strings.Join(parts, "/")))
	return fmt.Sprintf("%s-%x", run.Name, sum[:6])
}

// store returns the turns to write: those that have ended are dropped, but for failed hooks that hold
// nodes, and for those that were not used.
func (h *hooks) store() []v1alpha1.HookTurn {
	var list []v1alpha1.HookTurn
	unused := h.unusedTurns()
	for _, t := range h.turns {
		if isOpen(t) || h.failed(t) != nil || slices.Contains(unused, t) {
			list = append(list, *t)
		}
	}
	return list
}

// failed returns the first failed hook of the turn that holds nodes. Nil: there is none.
func (h *hooks) failed(t *v1alpha1.HookTurn) *v1alpha1.HookRun {
	for i := range t.Hooks {
		if h.holds(&t.Hooks[i]) {
			return &t.Hooks[i]
		}
	}
	return nil
}

// failedHold returns the hold of every node while a failed hook holds them.
func (h *hooks) failedHold() fleet.Hold {
	if h == nil {
		return fleet.Hold{}
	}
	for _, t := range h.turns {
		if run := h.failed(t); run != nil {
			return h.failedRunHold(t, run)
		}
	}
	return fleet.Hold{}
}

// failedRunHold names the upgrade to retry: the one that waits, or else the one in which the hook failed.
func (h *hooks) failedRunHold(t *v1alpha1.HookTurn, run *v1alpha1.HookRun) fleet.Hold {
	version, upgrade := t.Version, t.Upgrade.Name
	if h.target != nil && !h.target.forLateNodes {
		version, upgrade = h.target.Spec.Version, h.target.Name
	}
	message := fmt.Sprintf("%s failed (%s): %s; ", describe(t, run), run.Reason, run.Message)
	if run.JobUID != "" {
		message += showLog(run) + ", and "
	}
	switch {
	case version == "":
		message += fmt.Sprintf("a ClusterUpgrade of type Reboot with spec.retryOf: %s runs it again", upgrade)
	case h.target != nil && h.target.back:
		message += fmt.Sprintf("the same `kubectl upgrade rollback` with --to %s --retry runs it again", version)
	default:
		message += fmt.Sprintf("`kubectl upgrade apply %s --retry` runs it again", version)
	}
	return fleet.Hold{Reason: v1alpha1.ReasonHookFailed, Message: message, Stays: true}
}

// FailedHook returns the hold of every node of the next upgrade because of a hook that failed.
func FailedHook(policy *v1alpha1.UpgradePolicy) fleet.Hold {
	if policy == nil {
		return fleet.Hold{}
	}
	h := &hooks{reading: &reading{snapshot: &fleet.Snapshot{Policy: policy}}}
	for i := range policy.Status.HookTurns {
		h.turns = append(h.turns, &policy.Status.HookTurns[i])
	}
	return h.failedHold()
}

// runningHold returns the hold of a node, or an upgrade, that waits for a hook.
func runningHold(t *v1alpha1.HookTurn, run *v1alpha1.HookRun, now time.Time) fleet.Hold {
	if run.State == v1alpha1.HookPending {
		return fleet.Hold{Reason: v1alpha1.ReasonHookRunning, Message: describe(t, run) + " is about to run"}
	}
	message := fmt.Sprintf("%s has run since %s; %s", describe(t, run), fleet.FormatTime(run.StartTime.Time), showLog(run))
	deadline := run.Deadline()
	hold := fleet.Hold{Reason: v1alpha1.ReasonHookRunning, Message: message, Until: &deadline}
	switch {
	case run.Message != "" && run.JobUID != "":
		hold.Message += "; " + run.Message
	case run.Message != "":
		hold.Message = fmt.Sprintf("%s has not been able to start since %s: %s", describe(t, run), fleet.FormatTime(run.StartTime.Time), run.Message)
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
