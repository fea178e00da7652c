package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// maxNotes is the API's limit on the nodes that a status names.
const maxNotes = 32

// statuses are what the unfinished upgrades should say about themselves.
func (d *decider) statuses() []UpgradeStatus {
	var list []UpgradeStatus
	for i, u := range d.queue {
		u.Status.ObservedGeneration, u.Status.Strategy = u.Generation, d.resolve(u)
		if i == 0 {
			d.report(u)
		} else {
			message := fmt.Sprintf("waits for upgrade %s", d.queue[0].Name)
			d.conditions(u, metav1.ConditionUnknown, fleet.Hold{Reason: v1alpha1.ReasonQueued, Message: message}, false)
		}
		list = append(list, UpgradeStatus{Name: u.Name, UID: string(u.UID), Status: u.Status})
	}
	return append(list, d.caughtUp()...)
}

// caughtUp are the upgrades that have ended and were changed since: nothing
// follows from that, and their status says that it was seen.
func (d *decider) caughtUp() []UpgradeStatus {
	var list []UpgradeStatus
	for i := range d.Upgrades {
		u := &d.Upgrades[i]
		if u.Status.Outcome == "" || u.DeletionTimestamp != nil || u.Status.ObservedGeneration == u.Generation {
			continue
		}
		status := u.Status.DeepCopy()
		status.ObservedGeneration = u.Generation
		for i := range status.Conditions {
			status.Conditions[i].ObservedGeneration = u.Generation
		}
		list = append(list, UpgradeStatus{Name: u.Name, UID: string(u.UID), Status: *status})
	}
	return list
}

// report fills the status of the active upgrade.
func (d *decider) report(u *v1alpha1.ClusterUpgrade) {
	d.count(u)
	d.noteFindings(u)
	if d.finished(u) {
		message := fmt.Sprintf("all %d nodes run %s", d.total, d.to)
		if d.total == 1 {
			message = fmt.Sprintf("the node runs %s", d.to)
		}
		if d.isReboot() {
			message = "every node that needed a reboot has had one"
		}
		d.end(u, v1alpha1.OutcomeSucceeded, fleet.Hold{Reason: v1alpha1.ReasonUpToDate, Message: message})
		return
	}
	if d.giveUp(u) {
		return
	}
	if u.Status.TriggerTime == nil && d.isDowngrade() {
		d.end(u, v1alpha1.OutcomeFailed, d.wholly)
		return
	}
	hold, stalled := d.story()
	d.conditions(u, metav1.ConditionUnknown, hold, stalled)
}

// count counts nodes by what was decided for them, and names those that matter.
func (d *decider) count(u *v1alpha1.ClusterUpgrade) {
	var c v1alpha1.NodeCounts
	u.Status.Active, u.Status.Blocked = nil, nil
	for _, n := range d.nodes {
		if !n.managed || !n.selected {
			continue
		}
		if n.unsupported() {
			c.Unsupported++
			continue
		}
		if !n.abandoned() {
			c.Total++
		}
		switch {
		case n.decision == Blocked:
			if !n.abandoned() {
				c.Blocked++
			}
			u.Status.Blocked = note(u.Status.Blocked, n)
		case n.decision == Go || n.busy():
			c.Active++
			u.Status.Active = note(u.Status.Active, n)
		case n.decision == Done:
			c.Done++
		default:
			c.Waiting++
		}
	}
	u.Status.Nodes = c
	u.Status.Progress = fmt.Sprintf("%d/%d", c.Done, c.Total)
}

func note(list []v1alpha1.NodeNote, n *node) []v1alpha1.NodeNote {
	if len(list) == maxNotes {
		return list
	}
	return append(list, v1alpha1.NodeNote{Name: n.Name, Step: n.status.Step, Reason: n.hold.Reason, Message: clip(n.hold.Message)})
}

// finished is whether nothing is left to do: every node as wanted and back in
// service, every apiserver new.
func (d *decider) finished(u *v1alpha1.ClusterUpgrade) bool {
	return u.Status.TriggerTime != nil && d.total > 0 && d.oldServer == "" &&
		u.Status.Nodes.Done == u.Status.Nodes.Total
}

// story is what the upgrade as a whole waits for: what stops it, else who is at
// work, else why the first node waits that does not merely wait for its turn.
func (d *decider) story() (hold fleet.Hold, stalled bool) {
	if d.wholly.Reason != "" {
		return d.wholly, d.stalled
	}
	if d.failed != nil {
		return d.failedStory(), true
	}
	var active, waiting, turn, blocked *node
	first := func(at **node, n *node) {
		if *at == nil {
			*at = n
		}
	}
	for _, n := range d.nodes {
		switch {
		case !n.counts() || n.decision == Done:
		case n.decision == Go || n.busy():
			first(&active, n)
		case n.decision == Blocked:
			first(&blocked, n)
		case n.hold.Reason.Info().WaitsForOthers:
			first(&turn, n)
		default:
			first(&waiting, n)
		}
	}
	switch {
	case active != nil:
		return fleet.Hold{Reason: v1alpha1.ReasonReleased, Message: fmt.Sprintf("node %s is at work", active.Name)}, false
	case len(d.checks.whole) > 0:
		return d.wholeHold(), true
	case waiting != nil:
		return waiting.hold, waiting.hold.Reason == v1alpha1.ReasonNotStaged && d.stageError != nil
	case blocked != nil:
		return fleet.Hold{Reason: blocked.hold.Reason, Message: fmt.Sprintf("node %s: %s", blocked.Name, blocked.hold.Message)}, true
	case turn != nil:
		return turn.hold, false
	}
	return fleet.Hold{Reason: v1alpha1.ReasonControlPlaneFirst, Message: fmt.Sprintf("not every kube-apiserver is at %s yet", d.to)}, false
}

func (d *decider) failedStory() fleet.Hold {
	n := d.failed
	return fleet.Hold{Reason: v1alpha1.ReasonNodeFailed, Message: fmt.Sprintf("node %s failed (%s): %s", n.Name, n.cause.Reason, n.cause.Message)}
}

// conditions sets the conditions that kstatus reads: Reconciling and Stalled are
// there only while they are True.
func (d *decider) conditions(u *v1alpha1.ClusterUpgrade, succeeded metav1.ConditionStatus, hold fleet.Hold, stalled bool) {
	set := func(kind string, status metav1.ConditionStatus) {
		meta.SetStatusCondition(&u.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: string(hold.Reason), Message: clip(hold.Message),
			ObservedGeneration: u.Generation, LastTransitionTime: metav1.Time{Time: d.now.UTC().Truncate(time.Second)},
		})
	}
	set(v1alpha1.ConditionSucceeded, succeeded)
	for kind, is := range map[string]bool{
		v1alpha1.ConditionReconciling: succeeded == metav1.ConditionUnknown && !stalled,
		v1alpha1.ConditionStalled:     stalled,
	} {
		if is {
			set(kind, metav1.ConditionTrue)
		} else {
			meta.RemoveStatusCondition(&u.Status.Conditions, kind)
		}
	}
}

// wholeSecond is an instant as objects hold it.
func wholeSecond(t time.Time) *metav1.Time { return &metav1.Time{Time: t.UTC().Truncate(time.Second)} }

func truth(is bool) metav1.ConditionStatus {
	if is {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}
