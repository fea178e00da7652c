package sim

import (
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// settled reports whether a plan was made since the last fault and the last write, and nothing is in progress: every
// upgrade has ended or waits for a person, every agent has observed its spec, and no node is being
// upgraded.
func (w *world) settled() bool {
	if len(w.events) > 0 && w.steps%16 != 0 {
		return false
	}
	stopped, waits, person := false, false, false
	for _, n := range w.nodes {
		if n.removed {
			continue
		}
		if n.unmanaged && n.hasFiles {
			return false
		}
		nu := w.nodeUpgrade(n.name)
		if nu == nil || nu.Status.Step == "" || nu.Status.ObservedGeneration != nu.Generation || !n.healthy() && !n.leftBroken(nu) {
			return false
		}
		switch nu.Status.Step.Info().Phase {
		case v1alpha1.PhaseRevocable, v1alpha1.PhaseCommitted:
			return false
		case v1alpha1.PhaseStopped:
			stopped = true
		}
		waits = waits || (nu.Status.Step == v1alpha1.StepStaging || nu.Status.Step == v1alpha1.StepWaiting) && !w.isTakenBack(nu.Spec.Version) && !w.followsReplaced(nu) && !notAskedFor(nu) && !needsNewer(nu)
		if (w.held(n) != "" || w.shows(n) || w.marked(n) && !n.unmanaged) && nu.Status.Step.Info().Phase != v1alpha1.PhaseStopped {
			return false
		}
	}
	for _, n := range w.nodes {
		if n.removed && w.held(n) != "" { // its guard might still return it
			return false
		}
	}
	if w.script.Hooks && !w.hooksEnded() {
		return false
	}
	if w.renewalAwaited() != nil {
		return false
	}
	if w.retriedGoesOn() != nil || !w.decidedAt.After(w.since["repaired"]) || !w.decidedAt.After(w.wroteAt) {
		return false
	}
	for _, u := range w.upgrades() {
		person = person || u.Status.Outcome == "" && needsPerson(u)
	}
	for _, u := range w.upgrades() {
		if u.Status.Outcome == "" && !stopped && !person {
			return false
		}
	}
	return !waits || stopped || person
}

// leftBroken reports whether only a person can make the node healthy: it has stopped,
// or runs a broken image whose upgrade was deleted after the guard had disarmed. It has nothing left to
// do in another upgrade to that version.
func (n *node) leftBroken(nu *v1alpha1.NodeUpgrade) bool {
	return nu.Status.Step.Info().Phase == v1alpha1.PhaseStopped || nu.Status.Step == v1alpha1.StepIdle && n.broken[n.active] != "" && !n.armed
}

// followsReplaced reports whether the node follows an upgrade that has ended, and whose image the source
// no longer has: it waits until a person restores the image, or requests the version again.
func (w *world) followsReplaced(nu *v1alpha1.NodeUpgrade) bool {
	if reason, _ := nu.Status.Cause(); nu.Spec.Upgrade == nil || reason != v1alpha1.ReasonHashMismatch {
		return false
	}
	return slices.ContainsFunc(w.upgrades(), func(u *v1alpha1.ClusterUpgrade) bool {
		return string(u.UID) == nu.Spec.Upgrade.UID && u.Status.Outcome != "" && u.Status.Images[0].Digest != v1alpha1.DigestOf(w.digestOf(u.Spec.Version))
	})
}

// needsNewer reports whether the node waits until a person requests a newer version than late nodes
// follow: an apiserver is newer.
func needsNewer(nu *v1alpha1.NodeUpgrade) bool {
	reason, _ := nu.Status.Hold()
	return reason == v1alpha1.ReasonSkew
}

func needsPerson(u *v1alpha1.ClusterUpgrade) bool {
	c := meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionSucceeded)
	return c != nil && (v1alpha1.Reason(c.Reason).Info().NeedsPerson || meta.IsStatusConditionTrue(u.Status.Conditions, v1alpha1.ConditionStalled))
}

func (w *world) marked(n *node) bool {
	object := get[*corev1.Node](w.api, key{Resource: "nodes", Name: n.name})
	return object != nil && (object.Annotations[v1alpha1.CordonAnnotation] != "" || object.Annotations[v1alpha1.SlotAnnotation] != "")
}

// checkEnd checks that the cluster has settled, and that nothing is left over.
func (w *world) checkEnd() {
	if u := w.retriedGoesOn(); u != nil {
		w.broken("retry", "upgrade %s goes on, a node failed in it, and another upgrade retries it: %s", u.Name, w.describe())
	}
	w.checkConditionsEnd()
	w.checkBlamedEnd()
	defer w.checkHooksEnd()
	if w.steps = 0; !w.settled() {
		w.broken("liveness", "nothing has settled %s after the last fault: %s", settleLimit, w.describe())
		return
	}
	for _, s := range w.api.list("leases", "", func(tree) bool { return true }) {
		one := slotOf(s)
		if one.Holder != (clusterstate.Owner{}) && !w.stopped(one.Holder) {
			w.broken("leftovers", "%s is held by %s in the end: %s", one.Name, one.Holder, w.describe())
		}
	}
	for _, n := range w.nodes {
		object := get[*corev1.Node](w.api, key{Resource: "nodes", Name: n.name})
		if !n.removed && !w.stopped(n.owner()) && object.Spec.Unschedulable != w.foreign[n.uid] {
			w.broken("promise 5", "%s is unschedulable=%t in the end, and a person cordoned it: %t", n.name, object.Spec.Unschedulable, w.foreign[n.uid])
		}
	}
	if w.script.has("delete policy") {
		return // its status said which upgrade late nodes follow
	}
	for _, u := range w.upgrades() {
		if slices.ContainsFunc(w.upgrades(), func(other *v1alpha1.ClusterUpgrade) bool {
			return other.Status.Outcome == "" && other.Spec.Version == u.Spec.Version
		}) {
			continue // a later one to that version is stalled
		}
		for _, n := range w.nodes {
			if nu := w.nodeUpgrade(n.name); nu != nil && !nu.Spec.Managed {
				continue // it has left the pool
			} else if nu != nil && (w.followsReplaced(nu) || notAskedFor(nu)) {
				continue
			} else if nu != nil && nu.Status.ImageProblem != nil {
				continue // its agent says, rightly or not, that it cannot be upgraded
			}
			if u.Status.Outcome == v1alpha1.OutcomeSucceeded && !w.script.has("take back") && u.Spec.Version != "" && !n.removed && !n.packages && !n.unmanaged && older(n.kubelet, u.Spec.Version) && !w.stopped(n.owner()) && !w.anyStopped() {
				w.broken("liveness", "upgrade %s succeeded, and %s runs %s", u.Name, n.name, n.kubelet)
			}
		}
	}
}

// older reports whether a version of the scripts, which have one digit at the end, is older.
func older(version, than string) bool { return version < than }

func (w *world) anyStopped() bool {
	for _, n := range w.nodes {
		if !n.removed && w.stopped(n.owner()) {
			return true
		}
	}
	return false
}

func (w *world) stopped(owner clusterstate.Owner) bool {
	nu := w.nodeUpgrade(owner.Node)
	return nu != nil && nu.Status.Step.Info().Phase == v1alpha1.PhaseStopped
}

// describe describes where things stand.
func (w *world) describe() string {
	text := w.upgradeStatus()
	for _, n := range w.nodes {
		if n.removed {
			continue
		}
		if n.controlPlane && w.script.Certificates.Life > 0 {
			text += fmt.Sprintf("\n  %s: its certificates end %s, half renewed %t", n.name, n.certificatesEnd().Sub(w.started), n.certificates.left)
		}
		text += fmt.Sprintf("\n  %s: on %t, kubelet %q, ready %t, active %s, holds %q, marked %t", n.name, n.on, n.kubelet, n.ready, n.active, w.held(n), w.marked(n))
		if nu := w.nodeUpgrade(n.name); nu != nil {
			reason, message := nu.Status.Cause()
			hold, why := nu.Status.Hold()
			text += fmt.Sprintf(", %s (%s: %s) release %q slot %q, admitted (%s: %s)", nu.Status.Step, reason, message, nu.Spec.Release, nu.Spec.Slot, hold, why)
		}
	}
	for _, s := range w.api.list("leases", "", func(tree) bool { return true }) {
		one, err := slot.FromLease(s.object("leases").(*coordinationv1.Lease))
		text += fmt.Sprintf("\n  %s: reserved for %q, held by %q %v", one.Name, one.ReservedFor, one.Holder, err)
	}
	return text
}

func (w *world) upgradeStatus() string {
	text := ""
	for _, u := range w.upgrades() {
		c := meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionSucceeded)
		if c != nil {
			text += fmt.Sprintf("%s %s %s %s: %s", u.Name, u.UID, u.Status.Outcome, c.Reason, c.Message)
		}
	}
	return text
}
