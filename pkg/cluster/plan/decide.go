package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// verdict is what was decided for a node.
type verdict struct {
	decision Decision
	hold     clusterstate.Hold
	release  v1alpha1.Release
	kubeadm  v1alpha1.KubeadmCommand
	slot     string // the slot to reserve for it
}

// verdictsOf returns a verdict for each of the cluster's nodes, the turns of hooks as they are
// from then on, and whether a node waits only for a preflight report. It adds to wake when a node
// may be held that is not now.
func verdictsOf(s *survey, wake *wakeTime) (verdicts []verdict, after turns, missing bool) {
	verdicts = make([]verdict, len(s.cluster.nodes))
	for i, n := range s.cluster.nodes {
		if !n.open {
			verdicts[i] = s.fixedVerdict(n, wake)
		}
	}
	a := newAllocation(s, s.cluster.turns, wake)
	for i, n := range s.cluster.candidates {
		verdicts[i] = a.verdict(n)
	}
	a.endTurns()
	return verdicts, a.turns, a.missing
}

// candidates yields each node that may begin or wait, with its index in c.nodes: first
// the nodes with a reserved slot or hooks that have begun, then the others, in upgrade order. Last
// are those that were released and took no slot, which would not let others begin otherwise.
func (c *cluster) candidates(yield func(int, *node) bool) {
	others := make([]int32, 0, len(c.nodes)) // a forecast makes thousands of these
	var last []int32
	for i, n := range c.nodes {
		switch {
		case !n.open:
		case n.lease == nil && c.turns.of(n) == nil && n.lockedLast():
			last = append(last, int32(i))
		case n.lease == nil && c.turns.of(n) == nil:
			others = append(others, int32(i))
		case !yield(i, n):
			return
		}
	}
	for _, i := range append(others, last...) {
		if !yield(int(i), c.nodes[i]) {
			return
		}
	}
}

// verdict releases a candidate, or returns why it waits.
func (a *allocation) verdict(n *node) verdict {
	v := verdict{decision: Wait, release: v1alpha1.ReleaseNone, kubeadm: a.survey.kubeadm(n)}
	hold, slot := a.survey.firstHold(n, false, a.wake), ""
	mayGo := !hold.Holds()
	if mayGo {
		slot, hold = a.claim(n)
		mayGo = !hold.Holds() || hold.Reason == v1alpha1.ReasonNotItsTurn
	}
	if hold.Holds() && a.turns.of(n) != nil && !slices.Contains(a.survey.outOfService, n) {
		a.spend(n)
	}
	if hold = a.around(n, hold); hold.Holds() && mayGo {
		v.release = a.ahead(n)
	}
	v.hold = hold
	switch {
	case !hold.Holds():
		v.slot, v.release = slot, a.survey.releaseNow()
		v.set(n, Go, v1alpha1.ReasonReleased, ReleasedMessage)
	case hold.NeedsPerson():
		v.decision = Blocked
	}
	return v
}

// ahead returns the release of a node that waits for room in the budget or hooks of others only: kubeadm may
// run on a worker ahead of its turn, if as few nodes go before it as go together.
func (a *allocation) ahead(n *node) v1alpha1.Release {
	if n.ControlPlane || !a.cluster.target.runsKubeadmUpgrade() || a.hooksFirst(n) {
		return v1alpha1.ReleaseNone
	}
	if a.nextCount++; a.nextCount > a.cluster.budget {
		return v1alpha1.ReleaseNone
	}
	return v1alpha1.ReleaseKubeadmAhead
}

// releaseNow returns the release for a node that begins now.
func (s *survey) releaseNow() v1alpha1.Release {
	if s.pass1 {
		return v1alpha1.ReleaseControlPlane
	}
	return v1alpha1.ReleaseNode
}

// kubeadm returns which kubeadm upgrade the node runs.
func (s *survey) kubeadm(n *node) v1alpha1.KubeadmCommand {
	if n == s.first {
		return v1alpha1.KubeadmApply
	}
	return v1alpha1.KubeadmNode
}

// fixedVerdict returns the verdict for a node that is no candidate: it has begun, is
// done, or cannot begin.
func (s *survey) fixedVerdict(n *node, wake *wakeTime) verdict {
	v := verdict{release: v1alpha1.ReleaseNone, kubeadm: s.kubeadm(n)}
	switch {
	case n.abandoned != nil:
		v.set(n, Blocked, v1alpha1.ReasonAbandoned, n.abandonedMessage())
	case s.cluster.target.unsupported(n):
		v.set(n, Blocked, v1alpha1.ReasonUnsupported, n.whyUnsupported()+n.rebootNote())
	case s.cluster.abortsAttempt(n):
		v.set(n, Wait, n.cause.Reason, fmt.Sprintf("failed in upgrade %s; aborts that attempt, then starts again", n.status.Upgrade.Name))
	case n.failed():
		v.set(n, Blocked, n.cause.Reason, cmp.Or(n.cause.Message, "the node failed and needs a person"))
		if s.cluster.specIsForTarget(n) && s.cluster.manages(n) {
			v.release = n.spec.Release
		}
	case n.busy(), n.released() && !s.cluster.specIsForTarget(n):
		v = s.busyVerdict(n, wake)
		v.hold.Message += s.cluster.slotTrouble(n)
		switch {
		case s.cluster.isLost(n), n.withoutOrder():
			v.decision, v.hold = Blocked, n.lostHold() // continues when it comes back
		case n.agentGone(s.cluster.now):
			v.decision, v.hold = Blocked, n.agentHold(s.cluster.now) // continues when its agent runs again
		case v.decision == Go:
			if hold := n.notBackYet(s.cluster.now); hold.Holds() {
				v.decision, v.hold = Wait, hold
			}
			wake.at(n.silentAt())
		}
	case s.cluster.relapsed(n):
		hold := n.lostHold()
		v.set(n, Blocked, hold.Reason, hold.Message)
	case !n.managed:
		v.set(n, Done, v1alpha1.ReasonUnmanaged, "the UpgradePolicy's nodeSelector does not match this node")
	case !s.cluster.target.selects(n):
		v.set(n, Done, v1alpha1.ReasonNotSelected, s.cluster.target.notSelected())
	case !s.cluster.target.mayRenew(n):
		v.set(n, Done, v1alpha1.ReasonNotSelected, s.cluster.target.whyLeftOut(n))
	default:
		s.cluster.nothingLeft(&v, n)
	}
	return v
}

// whyUnsupported returns why no upgrade, or none to a version, is possible on the node.
func (n *node) whyUnsupported() string {
	if n.noAgent() {
		return fmt.Sprintf("agents run on Linux only, and this node runs %s", n.OS)
	}
	return cmp.Or(n.status.ImageProblem.Text(), "Kubernetes does not come to this node as a sysext image")
}

// nothingLeft decides for a node for which nothing is left to do. It shows a problem of
// the source, so that people learn of it before the next upgrade needs an image.
func (c *cluster) nothingLeft(v *verdict, n *node) {
	switch {
	case c.reading.snapshot.Source.Problem.Holds():
		v.decision, v.hold = Done, c.reading.snapshot.Source.Problem
	case c.target == nil && c.reading.untouched():
		v.set(n, Done, c.reading.policyHold.Reason, c.reading.policyHold.Message)
	case c.target == nil:
		v.set(n, Done, v1alpha1.ReasonNoUpgrade, "no upgrade is requested"+n.rebootNote())
	default:
		v.set(n, Done, v1alpha1.ReasonUpToDate, c.whyDone(n))
	}
}

// whyDone returns why nothing is left to do for the node.
func (c *cluster) whyDone(n *node) string {
	switch {
	case c.target.certificates:
		return c.target.whyNotRenewed(n)
	case !c.target.reboot:
		return "runs " + n.Kubelet + n.rebootNote()
	case c.target.rebooted(n):
		return "was rebooted"
	case c.target.endsBoot(n):
		return "has booted since the upgrade was triggered"
	case n.status.Reboot.Required && n.nextBootDiffers():
		return "is not rebooted: " + c.target.skew(n).Error()
	}
	return "needs no reboot"
}

// set sets the decision, its reason and its message. The message explains a cordon
// that stays on a node that begins or is done.
func (v *verdict) set(n *node, decision Decision, reason v1alpha1.Reason, message string) {
	if decision == Done {
		if mark := unknownMark(nil, n); mark.Holds() {
			message += "; " + mark.Message
		}
	}
	if n.Cordoned && (decision == Go || decision == Done) {
		message += "; its cordon was set by another client and stays"
	}
	v.decision, v.hold = decision, clusterstate.Hold{Reason: reason, Message: message}
}

// busyVerdict returns whether a node that has begun continues, or its release is
// withdrawn. A withdrawn release stays withdrawn until the node is back in service.
func (s *survey) busyVerdict(n *node, wake *wakeTime) verdict {
	v := verdict{release: n.spec.Release, kubeadm: n.spec.Kubeadm}
	v.set(n, Go, v1alpha1.ReasonReleased, ReleasedMessage)
	if n.mustFinish() {
		return v
	}
	if hold := s.withdrawal(n, wake); hold.Holds() {
		v.decision, v.hold, v.release = Wait, hold, v1alpha1.ReleaseNone
	} else if hold := n.ownHold(s.cluster.now); hold.Holds() {
		v.decision, v.hold = Wait, hold
	}
	wake.at(n.ownHoldCountsAt())
	return v
}

// withdrawal returns why the release of a node that has begun is withdrawn.
func (s *survey) withdrawal(n *node, wake *wakeTime) clusterstate.Hold {
	switch {
	case !n.managed:
		return clusterstate.Hold{Reason: v1alpha1.ReasonUnmanaged, Message: "the UpgradePolicy's nodeSelector does not match this node any more"}
	case s.cluster.reading.untouched():
		return s.cluster.reading.policyHold
	case !s.cluster.specIsForTarget(n):
		message := "the upgrade that it began for is not the active one any more"
		if n.spec.Upgrade != nil {
			message = fmt.Sprintf("upgrade %q is not the active one any more", n.spec.Upgrade.Name)
		}
		return clusterstate.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: message}
	case !s.cluster.target.selects(n):
		return clusterstate.Hold{Reason: v1alpha1.ReasonNotSelected, Message: s.cluster.target.notSelected() + " any more"}
	}
	if hold := s.firstHold(n, true, wake); hold.Holds() {
		return hold
	}
	if hold := n.ownHold(s.cluster.now); hold.Stays {
		return hold
	}
	if !n.released() {
		return clusterstate.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: "its release was withdrawn; waits until it is in service again"}
	}
	return clusterstate.Hold{}
}

// returned reports whether the agent of an abandoned node reports again, so that the
// field abandoned is to be removed.
//
// It compares generations, not times: clocks of nodes may be wrong, and a status that
// was sent before its node hung may arrive late. Setting abandoned and withdrawing the
// release raise the generation; an agent that has observed it knows that its release
// and its slot are gone, and starts again. One past its last check goes on without a slot until its
// attempt has ended. A node that is not Ready, or failed, would only stop the others again.
func (n *node) returned() bool {
	return n.abandoned != nil && !n.released() && n.answered && n.lease == nil && n.Ready && !n.failed() && n.phase != v1alpha1.PhaseCommitted
}

// abandonedMessage returns why, and until when, an abandoned node is left out.
func (n *node) abandonedMessage() string {
	if n.failed() {
		return fmt.Sprintf("abandoned: %s; left out while it is %s (%s)", n.abandoned, n.status.Step, n.cause.Reason)
	}
	return fmt.Sprintf("abandoned: %s; left out until its agent reports again and the node is Ready", n.abandoned)
}

// wakeTime is the first instant after now at which a decision may change by itself.
type wakeTime struct {
	now  time.Time
	next *time.Time
}

// at adds an instant at which a decision may change; nil is ignored.
func (w *wakeTime) at(t *time.Time) {
	if t != nil && t.After(w.now) && (w.next == nil || t.Before(*w.next)) {
		w.next = t
	}
}
