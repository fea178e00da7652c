package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// onHold holds a node with the hold label.
func onHold(_ *cluster, n *node) clusterstate.Hold {
	if !n.onHold {
		return clusterstate.Hold{}
	}
	return rules.Label(n.Labels)
}

// upgradeHeld holds every node while a person holds the upgrade.
func upgradeHeld(c *cluster, _ *node) clusterstate.Hold { return c.held }

// groupNotApproved holds the nodes of a group until a person approves the group.
func groupNotApproved(c *cluster, n *node) clusterstate.Hold {
	g := c.groups[n.group]
	if g.approval != v1alpha1.ApprovalRequired || slices.Contains(c.target.Spec.Approved.Groups, g.name) {
		return clusterstate.Hold{}
	}
	message := fmt.Sprintf("group %s waits for an approval: spec.approved.groups of upgrade %s", g.name, c.target.Name)
	if upgradeNamed(c.reading.snapshot.Upgrades, c.target.Name) == nil {
		message = fmt.Sprintf("group %s needs an approval, and upgrade %s was deleted: `kubectl upgrade apply %s`, and approve the group there", g.name, c.target.Name, c.target.to)
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonApprovalRequired, Message: message}
}

// clockDiffers holds a node whose clock, or every node while the coordinator's clock, differs from
// the API server's: each judges windows by its own.
func clockDiffers(c *cluster, n *node) clusterstate.Hold {
	if hold := rules.Clock("the coordinator", c.reading.snapshot.ClockAhead); hold.Holds() || n.facts == nil {
		return hold
	}
	return rules.Clock("this node", time.Duration(n.facts.ClockAheadSeconds)*time.Second)
}

// windowClosed holds a node outside its windows, and inside an exclusion.
func windowClosed(c *cluster, n *node) clusterstate.Hold {
	return c.windows.Lookup(c.classOf(n), c.now).Hold
}

// windowCloses returns when the window closes that is open for the node.
func windowCloses(c *cluster, n *node) *time.Time {
	return c.windows.Lookup(c.classOf(n), c.now).Closes
}

// classOf returns the class of nodes with the same windows. A node that was up to
// date when it was placed, and has begun all the same, has none yet.
func (c *cluster) classOf(n *node) *rules.Class {
	if n.class != nil {
		return n.class
	}
	return c.windows.ClassOf(n.Labels, c.target.typeFor(n))
}

// timeTooShort holds a node that is not expected to be done before its window closes.
// For a node that has begun it applies only until the node has taken its slot.
func timeTooShort(s *survey, n *node) clusterstate.Hold {
	need := s.expectedDuration(n)
	if n.busy() {
		if n.status.Step != v1alpha1.StepLocking || n.holdsLease() || n.spec.ExpectedSeconds == nil {
			return clusterstate.Hold{}
		}
		need = time.Duration(*n.spec.ExpectedSeconds) * time.Second
	}
	class := s.cluster.classOf(n)
	available := s.cluster.windows.Lookup(class, s.cluster.now)
	switch {
	case available.Fits(s.cluster.now, need):
		return clusterstate.Hold{}
	case s.cluster.brief:
		return clusterstate.Hold{Reason: v1alpha1.ReasonInsufficientTime}
	}
	return s.cluster.windows.TooShort(class, available, need)
}
