package plan

import (
	"cmp"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// verdict is what was decided for a node.
type verdict struct {
	decision Decision
	hold     fleet.Hold
	release  v1alpha1.Release
	kubeadm  v1alpha1.KubeadmCommand
	slot     string // the slot to keep for it
}

// decide returns a verdict for each of the cluster's nodes, and whether a node could
// go but for a report of the checks.
func decide(c *cluster) (verdicts []verdict, missing bool) {
	verdicts = make([]verdict, len(c.nodes))
	for i, n := range c.nodes {
		if !n.open {
			verdicts[i] = c.settled(n)
		}
	}
	a := newAllocation(c)
	for i, n := range c.candidates {
		verdicts[i] = a.verdict(n)
	}
	return verdicts, a.missing
}

// candidates calls yield for each node about which there is a choice, with its place
// in c.nodes: first those that a slot is kept for already, then the others, in their
// order.
func (c *cluster) candidates(yield func(int, *node) bool) {
	for _, promised := range []bool{true, false} {
		for i, n := range c.nodes {
			if n.open && (n.slot != nil) == promised && !yield(i, n) {
				return
			}
		}
	}
}

// verdict lets a candidate go, or says why not.
func (a *allocation) verdict(n *node) verdict {
	slot, hold := a.admit(n)
	v := verdict{decision: Wait, hold: hold, release: v1alpha1.ReleaseNone, kubeadm: a.kubeadm(n)}
	switch {
	case !hold.Holds():
		v.slot, v.release = slot, a.releaseNow()
		v.decide(n, Go, v1alpha1.ReasonReleased, "the coordinator released the node")
	case hold.NeedsPerson():
		v.decision = Blocked
	}
	return v
}

// releaseNow returns how far a node that goes may go.
func (c *cluster) releaseNow() v1alpha1.Release {
	if c.pass1 {
		return v1alpha1.ReleaseControlPlane
	}
	return v1alpha1.ReleaseNode
}

// kubeadm returns which kubeadm upgrade the node runs.
func (c *cluster) kubeadm(n *node) v1alpha1.KubeadmCommand {
	if n == c.first {
		return v1alpha1.KubeadmApply
	}
	return v1alpha1.KubeadmNode
}

// settled returns the verdict for a node about which there is no choice.
func (c *cluster) settled(n *node) verdict {
	v := verdict{release: v1alpha1.ReleaseNone, kubeadm: c.kubeadm(n)}
	switch {
	case n.abandoned != nil:
		v.decide(n, Blocked, v1alpha1.ReasonAbandoned, n.leftOut())
	case n.unsupported():
		v.decide(n, Blocked, v1alpha1.ReasonUnsupported, cmp.Or(n.cause.Message, "Kubernetes does not come to this node as a sysext image"))
	case c.abortsAttempt(n):
		v.decide(n, Wait, n.cause.Reason, fmt.Sprintf("failed in upgrade %s; aborts that attempt, and begins anew", n.status.Upgrade.Name))
	case n.failed():
		v.decide(n, Blocked, n.cause.Reason, cmp.Or(n.cause.Message, "the node failed and needs a person"))
		if c.orders(n) {
			v.release = n.spec.Release
		}
	case n.busy(), n.released() && !c.orders(n):
		v = c.atWork(n)
		v.hold.Message += c.slotTrouble(n)
		if c.isLost(n) {
			v.decision, v.hold = Blocked, n.notBack() // and goes on where it is when it comes back
		}
		return v
	case !n.managed:
		v.decide(n, Done, v1alpha1.ReasonUnmanaged, "the UpgradePolicy's nodeSelector does not match this node")
		return v
	case !c.target.selects(n):
		v.decide(n, Done, v1alpha1.ReasonNotSelected, fmt.Sprintf("the nodeSelector of upgrade %s does not match this node", c.target.Name))
		return v
	case c.target == nil:
		v.decide(n, Done, v1alpha1.ReasonNoUpgrade, "nothing is asked for"+n.stillDue())
	default:
		v.decide(n, Done, v1alpha1.ReasonUpToDate, c.whyDone(n))
	}
	if v.decision == Done && c.Source.Problem.Holds() {
		v.hold = c.Source.Problem
	}
	return v
}

// whyDone says why nothing is left to do for the node.
func (c *cluster) whyDone(n *node) string {
	switch {
	case !c.target.reboot:
		return "runs " + n.Kubelet + n.stillDue()
	case c.target.rebooted(n):
		return "was rebooted"
	case n.status.Reboot.Required && n.nextBootDiffers():
		return "is left alone: " + c.target.step(n).Error()
	}
	return "needs no reboot"
}

// decide notes what was decided. A person who looks at a node that goes or is done
// may ask why it is cordoned then.
func (v *verdict) decide(n *node, decision Decision, reason v1alpha1.Reason, message string) {
	if decision == Done {
		if mark := unknownMark(nil, n); mark.Holds() {
			message += "; " + mark.Message
		}
	}
	if n.Cordoned && (decision == Go || decision == Done) {
		message += "; the cordon on it is not ours, and stays"
	}
	v.decision, v.hold = decision, fleet.Hold{Reason: reason, Message: message}
}
