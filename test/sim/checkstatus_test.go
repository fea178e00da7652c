package sim

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// checkNodeUpgrade checks promises 6 and 8 on a change of a NodeUpgrade. It does not decode
// the object, which would take longer than all else.
func (w *world) checkNodeUpgrade(by string, k key, before, after *stored) {
	if after == nil {
		w.note("%s: NodeUpgrade %s was deleted", by, k.Name)
		w.specChangedAt[k.Name] = w.now()
		return
	}
	was := &stored{tree: tree{}}
	if before != nil {
		was = before
	}
	w.checkAbandonment(by, k.Name, was.tree, after.tree)
	step := v1alpha1.Step(text(inner(after.tree, "status"), "step"))
	reason, message := conditionOf(after.tree, v1alpha1.ConditionUpToDate)
	if text(inner(was.tree, "status"), "step") != string(step) {
		w.note("%s is in step %s (%s: %s)", k.Name, step, reason, message)
		if step != "" && step != w.lastStep[k.Name] { // it is the same where the NodeUpgrade was deleted meanwhile
			w.since["step "+k.Name], w.lastStep[k.Name] = w.now(), step
		}
		if strings.HasPrefix(by, "agent ") {
			w.checkEntered(k.Name, step)
			w.noteStopped(k.Name, step)
			w.noteSuspect(k.Name, step, text(inner(inner(after.tree, "status"), "upgrade"), "uid"))
		}
	}
	former, spec := inner(was.tree, "spec"), inner(after.tree, "spec")
	if former["managed"] != spec["managed"] {
		w.note("%s: %s is managed: %v", by, k.Name, spec["managed"] == true)
	}
	if text(inner(former, "upgrade"), "uid") != text(inner(spec, "upgrade"), "uid") || text(former, "release") != text(spec, "release") || former["managed"] != spec["managed"] {
		w.specChangedAt[k.Name] = w.now()
	}
	granted := v1alpha1.Release(text(spec, "release")).Granted()
	if text(former, "release") != text(spec, "release") || text(former, "slot") != text(spec, "slot") {
		w.note("%s: %s has release %q and slot %q", by, k.Name, text(spec, "release"), text(spec, "slot"))
	}
	if strings.Contains(by, "coordinator") && granted && !v1alpha1.Release(text(former, "release")).Granted() {
		w.checkReport(by, k.Name)
		w.checkPolicyOf(by, k.Name)
		w.checkReleaseByGates(by, k.Name, text(inner(spec, "upgrade"), "uid"))
	}
	if strings.HasPrefix(by, "agent ") && step != "" && !w.lied[k.Name] {
		working := step.Info().Phase == v1alpha1.PhaseCommitted || step.Info().Phase == v1alpha1.PhaseRevocable
		if reason == "" || message == "" && !working {
			w.broken("promise 8", "%s is in step %s with no reason (%q: %q)", k.Name, step, reason, message)
		}
	}
	hold, why := conditionOf(after.tree, v1alpha1.ConditionAdmitted)
	if strings.Contains(by, "coordinator") && hold != "" && why == "" && v1alpha1.Reason(hold).Info().Giver != v1alpha1.GivenByAgent {
		w.broken("promise 8", "%s waits with reason %s and no message", k.Name, hold)
	}
}

// withSlot are the steps in which a node has taken a slot. From most of them the coordinator
// concludes just that, and restores the slot if its Lease has no holder. A node that only has
// an annotation, which anything may have written, begins in Verifying.
var withSlot = []v1alpha1.Step{v1alpha1.StepSnapshotting, v1alpha1.StepKubeadm, v1alpha1.StepChecking, v1alpha1.StepCordoning,
	v1alpha1.StepDraining, v1alpha1.StepLastCheck, v1alpha1.StepActivating, v1alpha1.StepRestarting, v1alpha1.StepRebooting}

// checkEntered checks promise 4 when a node reports a step. A person may have edited or
// deleted the Lease since the node took it, or have given it to the node.
func (w *world) checkEntered(name string, step v1alpha1.Step) {
	n := w.node(name)
	if n == nil || !slices.Contains(withSlot, step) || w.held(n) != "" || w.givenUp(n) || w.lied[name] {
		return
	}
	if step == v1alpha1.StepChecking && w.givenLately(n.uid) {
		return // it ends what it seems to have begun
	}
	for _, holder := range w.lastHolder {
		if holder == n.owner().String() {
			return
		}
	}
	w.broken("promise 4", "%s is in step %s, and has not taken a slot", name, step)
}

func conditionOf(t tree, kind string) (reason, message string) {
	list, _ := inner(t, "status")["conditions"].([]any)
	for _, item := range list {
		if c := item.(tree); c["type"] == kind {
			return text(c, "reason"), text(c, "message")
		}
	}
	return "", ""
}

// checkUpgrade checks promises 7 and 8 on a change of a ClusterUpgrade.
func (w *world) checkUpgrade(by string, before, after *stored) {
	w.checkSuspension(before, after)
	if before == nil && strings.Contains(by, "coordinator") {
		w.checkCreated(after.object("clusterupgrades").(*v1alpha1.ClusterUpgrade))
		if w.repaired {
			w.after(time.Second, "approval", func() { w.approve(w.approved) })
		}
	}
	if after != nil && before == nil {
		w.noteRenewal(after)
	}
	if after == nil || before == nil {
		w.recreatedAt = w.now()
		w.note("%s: a ClusterUpgrade was created or deleted", by)
		return
	}
	was, is := before.object("clusterupgrades").(*v1alpha1.ClusterUpgrade), after.object("clusterupgrades").(*v1alpha1.ClusterUpgrade)
	condition := meta.FindStatusCondition(is.Status.Conditions, v1alpha1.ConditionSucceeded)
	if !strings.Contains(by, "coordinator") {
		return
	}
	w.checkStalled(is)
	if condition == nil || condition.Reason == "" || condition.Message == "" {
		w.broken("promise 8", "ClusterUpgrade %s gives no reason: %+v", is.Name, condition)
		return
	}
	if old := meta.FindStatusCondition(was.Status.Conditions, v1alpha1.ConditionSucceeded); old == nil || old.Reason != condition.Reason {
		w.note("%s: ClusterUpgrade %s (%s) %s: %s", by, is.Name, is.Status.Progress, condition.Reason, condition.Message)
	}
	if is.Status.Outcome == v1alpha1.OutcomeSucceeded && was.Status.Outcome == "" {
		w.checkRebooted(is)
		w.checkBootsEnded(is)
	}
	for _, image := range is.Status.Images {
		fixed, known := w.fixed[string(is.UID)]
		if known && fixed != image.Digest.SHA256() {
			w.broken("promise 7", "the digest of %s changed after the trigger", is.Name)
		}
		w.fixed[string(is.UID)] = image.Digest.SHA256()
	}
}

// checkCreated checks that the coordinator does not create an upgrade to a version anew if the last
// one to it did not succeed: it would be created again and again.
func (w *world) checkCreated(created *v1alpha1.ClusterUpgrade) {
	w.checkCreatedBefore(created)
	var last *v1alpha1.ClusterUpgrade
	for _, u := range w.upgrades() {
		if u.Spec.Version == created.Spec.Version && u.Status.EndTime != nil && (last == nil || last.Status.EndTime.Before(u.Status.EndTime)) {
			last = u
		}
	}
	if created.Spec.Version != "" && last != nil && last.Status.Outcome != v1alpha1.OutcomeSucceeded {
		w.broken("created again", "the coordinator creates %s, and %s ended as %s", created.Name, last.Name, last.Status.Outcome)
	}
}
