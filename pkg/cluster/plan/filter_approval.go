package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// notApproved holds the whole upgrade until a person approves it, and after its end the
// nodes that join late.
func notApproved(u *v1alpha1.ClusterUpgrade, _ time.Time) fleet.Hold {
	if u.Status.Strategy.Approval != v1alpha1.ApprovalRequired || u.Spec.Approved.Upgrade {
		return fleet.Hold{}
	}
	message := fmt.Sprintf("upgrade %s waits for an approval: spec.approved.upgrade", u.Name)
	return fleet.Hold{Reason: v1alpha1.ReasonApprovalRequired, Message: message}
}

// groupNotApproved holds the nodes of a group until a person approves the group.
func groupNotApproved(c *cluster, n *node) fleet.Hold {
	g := c.groups[n.group]
	if g.approval != v1alpha1.ApprovalRequired || slices.Contains(c.target.Spec.Approved.Groups, g.name) {
		return fleet.Hold{}
	}
	message := fmt.Sprintf("group %s waits for an approval: spec.approved.groups of upgrade %s", g.name, c.target.Name)
	return fleet.Hold{Reason: v1alpha1.ReasonApprovalRequired, Message: message}
}
