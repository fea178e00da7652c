package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// busyVerdict returns whether a node that has begun continues, or its release is
// withdrawn. A withdrawn release stays withdrawn until the node is back in service.
func (c *cluster) busyVerdict(n *node) verdict {
	v := verdict{release: n.spec.Release, kubeadm: n.spec.Kubeadm}
	v.decide(n, Go, v1alpha1.ReasonReleased, "the coordinator released the node")
	if n.mustFinish() {
		return v
	}
	if hold := c.withdrawal(n); hold.Holds() {
		v.decision, v.hold, v.release = Wait, hold, v1alpha1.ReleaseNone
	}
	return v
}

// withdrawal returns why the release of a node that has begun is withdrawn.
func (c *cluster) withdrawal(n *node) fleet.Hold {
	switch {
	case !n.managed:
		return fleet.Hold{Reason: v1alpha1.ReasonUnmanaged, Message: "the UpgradePolicy's nodeSelector does not match this node any more"}
	case c.untouched():
		return c.policyHold
	case !c.specIsForTarget(n):
		message := "the upgrade that it began for is not the active one any more"
		if n.spec.Upgrade != nil {
			message = fmt.Sprintf("upgrade %q is not the active one any more", n.spec.Upgrade.Name)
		}
		return fleet.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: message}
	case !c.target.selects(n):
		return fleet.Hold{Reason: v1alpha1.ReasonNotSelected, Message: fmt.Sprintf("the nodeSelector of upgrade %s does not match this node any more", c.target.Name)}
	}
	for i := range filters {
		if !filters[i].withdraws {
			continue
		}
		if hold := filters[i].hold(c, n); hold.Holds() {
			return hold
		}
	}
	if !n.released() {
		return fleet.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: "its release was withdrawn; waits until it is in service again"}
	}
	return fleet.Hold{}
}
