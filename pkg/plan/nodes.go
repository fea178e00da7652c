package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// decideNodes decides for every node.
func (d *decider) decideNodes() {
	for _, n := range d.open() {
		n.hold = d.candidate(n)
		switch n.hold.Reason {
		case "":
			n.decide(Go, v1alpha1.ReasonReleased, "the coordinator let it go")
			continue
		case v1alpha1.ReasonTimeLeft:
			n.hold = d.tooShort(n)
		}
		n.decision = Wait
		if d.needsSomebody(n) {
			n.decision = Blocked
		}
	}
}

// open decides for those about whom there is no choice, and returns the others
// as they are to be asked: first those that a slot is kept for already, then the
// rest in their order.
func (d *decider) open() []*node {
	d.look()
	d.chooseApplier()
	d.chooseSaver()
	var promised []*node
	rest := make([]*node, 0, len(d.nodes))
	for _, n := range d.nodes {
		switch {
		case d.settle(n):
		case n.promised():
			promised = append(promised, n)
		default:
			rest = append(rest, n)
		}
	}
	return slices.Insert(rest, 0, promised...)
}

// needsSomebody is whether n does not go by itself after a while.
func (d *decider) needsSomebody(n *node) bool {
	return d.stalled || n.hold.Reason.Info().NeedsPerson || !n.preparedAt(d.to) && n.cannotStage() ||
		n.hold.Reason == v1alpha1.ReasonOtherRebootManager && d.managerStays() ||
		n.hold.Reason == v1alpha1.ReasonTimeLeft && n.hold.Until == nil ||
		n.hold.Reason == v1alpha1.ReasonPreflight && d.stopped(n) ||
		n.hold.Reason == v1alpha1.ReasonWebhookBackend && d.lastBackend(n)
}

// settle decides for a node about which there is no choice, and says whether it
// did.
func (d *decider) settle(n *node) bool {
	switch {
	case n.abandoned():
		n.decide(Blocked, v1alpha1.ReasonAbandoned, n.leftOut())
	case n.unsupported():
		n.decide(Blocked, v1alpha1.ReasonUnsupported, cmp.Or(n.cause.Message, "Kubernetes does not come to this node as a sysext image"))
	case d.givesWay(n):
		n.decide(Wait, n.cause.Reason, fmt.Sprintf("failed in upgrade %s; gives that up, and begins anew", n.status.Upgrade.Name))
	case n.failed():
		n.decide(Blocked, n.cause.Reason, cmp.Or(n.cause.Message, "the node failed and needs somebody"))
		if d.forTarget(n) {
			n.release = n.spec.Release
		}
	case n.busy(), n.released() && !d.forTarget(n):
		d.atWork(n)
	case !n.managed:
		n.decide(Done, v1alpha1.ReasonUnmanaged, "the UpgradePolicy's nodeSelector does not match this node")
	case d.target == nil:
		n.decide(Done, v1alpha1.ReasonNoUpgrade, "nothing is asked for"+n.stillDue())
	case !n.selected:
		n.decide(Done, v1alpha1.ReasonNotSelected, fmt.Sprintf("the nodeSelector of upgrade %s does not match this node", d.target.Name))
	case !d.stalled && n.asWanted(d.to):
		n.decide(Done, v1alpha1.ReasonUpToDate, d.asItShould(n))
	default:
		return false
	}
	if n.decision == Done && n.counts() && d.Source.Problem.Reason != "" {
		n.hold = d.Source.Problem
	}
	return true
}

// decide notes what was decided without a choice. Whoever looks at a node that
// goes or is done may ask why it is cordoned then.
func (n *node) decide(decision Decision, reason v1alpha1.Reason, message string) {
	if n.Cordoned && (decision == Go || decision == Done) {
		message += "; somebody else's cordon on it stays"
	}
	n.decision, n.hold = decision, fleet.Hold{Reason: reason, Message: message}
}

// atWork decides whether a node that has begun goes on or is called back. One
// that was called back stays so until it is back in service.
func (d *decider) atWork(n *node) {
	n.release, n.kubeadm = n.spec.Release, n.spec.Kubeadm
	n.decide(Go, v1alpha1.ReasonReleased, "the coordinator let it go")
	if n.finishes() {
		return
	}
	if hold := d.callBack(n); hold.Reason != "" {
		n.decision, n.hold, n.release = Wait, hold, v1alpha1.ReleaseNone
	}
}

// forTarget is whether the node was let go for the upgrade that is planned.
func (d *decider) forTarget(n *node) bool {
	return isFor(n.spec.Upgrade, d.target)
}

// callBack is why a node that has begun shall give up.
func (d *decider) callBack(n *node) fleet.Hold {
	switch {
	case !n.managed:
		return fleet.Hold{Reason: v1alpha1.ReasonUnmanaged, Message: "the UpgradePolicy's nodeSelector does not match this node any more"}
	case !d.forTarget(n):
		return fleet.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: fmt.Sprintf("upgrade %q is not the active one any more", nameOf(n.spec.Upgrade))}
	case !n.selected:
		return fleet.Hold{Reason: v1alpha1.ReasonNotSelected, Message: fmt.Sprintf("the nodeSelector of upgrade %s does not match this node any more", d.target.Name)}
	case d.failed != nil || d.leaving != nil:
		return d.failureHold(n)
	}
	if hold := d.managerHold(n); hold.Reason != "" {
		return hold
	}
	if hold := d.gate(n); hold.Reason != "" {
		return hold
	}
	if c := n.class; n.status.Step == v1alpha1.StepLocking && !n.holds() && n.spec.ExpectedSeconds != nil {
		// It came too late to begin, and its agent knows: others may be quicker.
		if need := time.Duration(*n.spec.ExpectedSeconds) * time.Second; !c.fits(d.now, need) {
			return d.gates.tooShort(c, need)
		}
	}
	if n.ControlPlane {
		// A member that broke since this node was let go.
		if hold := d.etcdHold(n); hold.Reason != "" {
			return hold
		}
	}
	if !n.released() {
		return fleet.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: "was called back; waits until it is in service again"}
	}
	return fleet.Hold{}
}

func (d *decider) failedHold() fleet.Hold {
	message := fmt.Sprintf("node %s failed (%s): nobody starts after it", d.failed.Name, d.failed.cause.Reason)
	return fleet.Hold{Reason: v1alpha1.ReasonNodeFailed, Message: message}
}

// gate asks the upgrade's gate for n, and remembers when the answer may
// change.
func (d *decider) gate(n *node) fleet.Hold {
	c := d.gates.ask(n)
	d.wakeAt(c.closes)
	return c.hold
}

// chooseApplier picks the control-plane node that runs `kubeadm upgrade apply`:
// the one that was picked before, as it may have got half-way; else the first.
// Once a node has completed, the others run `kubeadm upgrade node`.
func (d *decider) chooseApplier() {
	var first, picked *node
	for _, n := range d.nodes {
		if !n.ControlPlane || !n.counts() || d.target == nil || n.reboot {
			continue
		}
		if atLeast(n.runs.kubeadm, d.to) {
			return
		}
		if first == nil {
			first = n
		}
		if picked == nil && d.forTarget(n) && n.spec.Kubeadm == v1alpha1.KubeadmApply {
			picked = n
		}
	}
	if picked == nil {
		picked = first
	}
	if picked != nil {
		picked.kubeadm = v1alpha1.KubeadmApply
		d.applier = picked
	}
}
