package sim

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// Certificates are renewed of one control plane at a time, in service, in time, and not again and again.

// checkRenew checks a renewal that an agent starts.
func (w *world) checkRenew(a *agentProgram) {
	const what = "renews certificates"
	n := a.node
	w.checkAllowed(a, what)
	if slot := w.held(n); slot != "" && slot != clusterstate.ControlPlaneSlot && w.edited[slot].names != n.owner() || !n.controlPlane {
		w.broken("certificates", "%s %s with %s, control plane: %t", n.name, what, slot, n.controlPlane)
	}
	if nu := w.nodeUpgrade(n.name); nu != nil && nu.Spec.Type != v1alpha1.TypeCertificates && w.specChangedAt[n.name].Before(a.ranAt) {
		w.broken("certificates", "%s %s for a %s", n.name, what, nu.Spec.Type)
	}
	for _, other := range w.controlPlanes() {
		if other != n && !w.givenUp(other) && (other.renews() || w.outOfService(other)) {
			w.broken("certificates", "%s %s while %s renews its own (%t), or is out of service", n.name, what, other.name, other.renews())
		}
	}
	u := w.upgradeOf(a)
	if u == nil || u.Annotations[v1alpha1.CreatedByAnnotation] != v1alpha1.CreatedByCoordinator {
		return
	}
	if age := w.now().Sub(n.certificates.issued); age < w.life()/10 {
		w.broken("certificates", "%s %s by itself, and they are only %s old", n.name, what, age)
	}
}

// renews reports whether the node's certificates are being renewed, or put back.
func (n *node) renews() bool {
	for _, v := range []verb.Verb{verb.Renew, verb.PutBack} {
		if _, runs := n.units[v]; runs {
			return true
		}
	}
	return false
}

// checkLeft checks that what a renewal has left is put back before anything else is done on its node, once the agent
// can know it.
func (w *world) checkLeft(a *agentProgram, what string) {
	c := a.node.certificates
	if c.left && !a.node.renews() && c.leftSince.Before(a.node.factsAt) && a.node.factsAt.Before(a.ranAt) {
		w.broken("certificates", "%s %s before certificates are put back that were half renewed", a.node.name, what)
	}
}

// checkServes checks that a renewal of certificates takes no node out of service.
func (w *world) checkServes(a *agentProgram, what string) {
	w.checkLeft(a, what)
	if uid := a.steps.State().Upgrade.UID; w.renewals[uid] {
		w.broken("certificates", "%s %s, and its upgrade only renews certificates", a.node.name, what)
	}
}

// noteRenewal notes which upgrades renew certificates.
func (w *world) noteRenewal(created *stored) {
	if text(inner(created.tree, "spec"), "type") == string(v1alpha1.TypeCertificates) {
		w.renewals[text(metadata(created.tree), "uid")] = true
	}
}

// renewalDue returns when the node's certificates are to be renewed by themselves, and false where nothing does that.
func (w *world) renewalDue(n *node) (at time.Time, is bool) {
	before := w.script.Certificates.Renews
	if before == 0 || !n.controlPlane || n.removed || w.livePolicy() == nil {
		return time.Time{}, false
	}
	life := w.life()
	return n.certificatesEnd().Add(-min(before, life/3)), true
}

// renewalAwaited returns a control plane whose certificates are due, without an upgrade that renews them or says why not.
// One that has failed is not created again, nor one that a person has deleted.
func (w *world) renewalAwaited() *node {
	for _, n := range w.controlPlanes() {
		due, is := w.renewalDue(n)
		if !is || w.now().Sub(due) < grace || n.unmanaged || w.abandoned(n.owner()) || w.isAsked(n) {
			continue
		}
		return n
	}
	return nil
}

// isAsked reports whether an upgrade that has not ended, or has failed, is to renew the node's certificates.
func (w *world) isAsked(n *node) bool {
	if w.script.has("delete renewals") {
		return true
	}
	name := "certificates-ending-" + n.certificatesEnd().UTC().Format("20060102-1504")
	return slices.ContainsFunc(w.upgrades(), func(u *v1alpha1.ClusterUpgrade) bool {
		if rules.TypeOf(u) != v1alpha1.TypeCertificates || u.Status.Outcome == v1alpha1.OutcomeSucceeded {
			return false
		}
		c := meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionSucceeded)
		return (strings.HasPrefix(u.Name, name) || u.Status.Outcome == "") && c != nil && c.Message != ""
	})
}

// renewsWithin is how long a renewal that is due may take where nothing is in its way, for each control plane.
const renewsWithin = 4 * time.Minute

// watchCertificates checks again and again that certificates are renewed in time.
func (w *world) watchCertificates() {
	if w.script.Certificates.Renews == 0 {
		return
	}
	w.after(15*time.Second, "certificates", w.watchCertificates)
	if why := w.keepsRenewals(); why != "" {
		w.calmSince = time.Time{}
		return
	}
	if w.calmSince.IsZero() {
		w.calmSince = w.now()
	}
	limit := renewsWithin * time.Duration(len(w.controlPlanes()))
	for _, n := range w.controlPlanes() {
		due, is := w.renewalDue(n)
		if since := later(due, w.calmSince); is && w.now().Sub(since) > limit {
			w.broken("certificates", "those of %s end %s, have been due since %s, nothing has been in the way since %s, and they were not renewed: %s",
				n.name, n.certificatesEnd().Sub(w.started), due.Sub(w.started), w.calmSince.Sub(w.started), w.describe())
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// keepsRenewals returns what may keep certificates from being renewed now.
func (w *world) keepsRenewals() string {
	policy, now := w.livePolicy(), w.now()
	switch {
	case policy == nil || policy.Spec.Mode != v1alpha1.ModeManage || w.closed(len(w.api.log["maintenanceschedules"]), now, v1alpha1.TypeCertificates):
		return "the policy, or a closed window"
	case w.coordinators[0] == nil || w.coordinators[0].isDead || w.coordinators[1] != nil && !w.coordinators[1].isDead || !w.apiUp() || w.coordinatorsClock != 0:
		return "no coordinator, or two"
	case w.script.Hooks || w.script.Gates || w.script.follower() || w.script.Approvals || len(w.findings) > 0 || w.script.has("delete renewals") || w.script.has("lie"):
		return "what people hold"
	}
	for _, n := range w.nodes {
		nu := w.nodeUpgrade(n.name)
		if n.removed {
			continue
		}
		if !n.healthy() || nu == nil || n.partitioned || n.clockError() != 0 || nu.Abandoned != nil || w.isOnHold(n) || n.unmanaged {
			return n.name + " is away, or not managed"
		}
		if n.renews() && now.Before(n.certificates.hangsUntil) {
			return "the renewal of " + n.name + " hangs"
		}
		phase := nu.Status.Step.Info().Phase
		atWork := phase == v1alpha1.PhaseRevocable || phase == v1alpha1.PhaseCommitted || nu.Spec.Release.Granted() || w.held(n) != ""
		if phase == v1alpha1.PhaseStopped || atWork && (nu.Spec.Upgrade == nil || !w.renewals[nu.Spec.Upgrade.UID]) || nu.Status.Retry.Attempts > 1 {
			return n.name + " is at work for something else, or has failed"
		}
		if w.marked(n) && phase == v1alpha1.PhaseInService || n.failing[verb.Facts] > 0 {
			return n.name + " is marked"
		}
	}
	if slices.ContainsFunc(w.upgrades(), func(u *v1alpha1.ClusterUpgrade) bool { return u.Spec.Suspend }) {
		return "an upgrade is suspended"
	}
	for _, p := range w.programs() {
		if len(p.traps) > 0 || slices.ContainsFunc(p.views, func(v *view) bool { return v.stalledUntil.After(now) || len(v.missing) > 0 }) {
			return p.name + " is late"
		}
	}
	return ""
}
