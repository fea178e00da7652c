package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// onHold holds a node with the hold label.
func onHold(_ *cluster, n *node) fleet.Hold {
	if !n.onHold {
		return fleet.Hold{}
	}
	return HoldLabelGate(n.Labels)
}

// HoldLabelGate holds a node whose labels include the hold label. The agent calls it again
// with what it reads itself.
func HoldLabelGate(nodeLabels map[string]string) fleet.Hold {
	if _, held := nodeLabels[v1alpha1.HoldLabel]; !held {
		return fleet.Hold{}
	}
	return fleet.Hold{Reason: v1alpha1.ReasonOnHold, Message: "the Node has the label " + v1alpha1.HoldLabel}
}

// upgradeFilter holds a whole upgrade because a person decided so.
type upgradeFilter func(u *v1alpha1.ClusterUpgrade, now time.Time) fleet.Hold

// upgradeHeld holds every node while a person holds the upgrade.
func upgradeHeld(c *cluster, _ *node) fleet.Hold { return c.held }

// upgradeHold returns the first hold that a person put on the upgrade.
func upgradeHold(u *v1alpha1.ClusterUpgrade, now time.Time) fleet.Hold {
	for _, filter := range upgradeFilters {
		if hold := filter(u, now); hold.Holds() {
			return hold
		}
	}
	return fleet.Hold{}
}

func suspended(u *v1alpha1.ClusterUpgrade, _ time.Time) fleet.Hold {
	if !u.Spec.Suspend {
		return fleet.Hold{}
	}
	return fleet.Hold{Reason: v1alpha1.ReasonSuspended, Message: fmt.Sprintf("upgrade %s is suspended", u.Name)}
}

func notStarted(u *v1alpha1.ClusterUpgrade, now time.Time) fleet.Hold {
	start := u.Spec.StartTime
	if start == nil || !now.Before(start.Time) {
		return fleet.Hold{}
	}
	announced := ""
	if u.Annotations[v1alpha1.CreatedByAnnotation] == v1alpha1.CreatedByCoordinator {
		announced = "is announced, and "
	}
	message := fmt.Sprintf("upgrade %s %sstarts %s", u.Name, announced, fleet.FormatTime(start.Time))
	return fleet.Hold{Reason: v1alpha1.ReasonNotStarted, Message: message, Until: &start.Time}
}

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
	if upgradeNamed(c.reading.snapshot.Upgrades, c.target.Name) == nil {
		message = fmt.Sprintf("group %s needs an approval, and upgrade %s was deleted: `kubectl upgrade apply %s`, and approve the group there", g.name, c.target.Name, c.target.to)
	}
	return fleet.Hold{Reason: v1alpha1.ReasonApprovalRequired, Message: message}
}

// clockDiffers holds a node whose clock, or every node while the coordinator's clock, differs from
// the API server's: each judges windows by its own.
func clockDiffers(c *cluster, n *node) fleet.Hold {
	if hold := ClockHold("the coordinator", c.reading.snapshot.ClockAhead); hold.Holds() || n.facts == nil {
		return hold
	}
	return ClockHold("this node", time.Duration(n.facts.ClockAheadSeconds)*time.Second)
}

// ClockHold returns the hold for a clock that is ahead of the API server's, or behind it if ahead
// is less than zero. Zero: it is right.
func ClockHold(whose string, ahead time.Duration) fleet.Hold {
	side := "ahead of"
	switch {
	case ahead == 0:
		return fleet.Hold{}
	case ahead < 0:
		side, ahead = "behind", -ahead
	}
	message := fmt.Sprintf("the clock of %s is %s %s the API server's, and windows are judged by it: set it, and check its time synchronization", whose, ahead.Round(10*time.Second), side)
	return fleet.Hold{Reason: v1alpha1.ReasonClockDiffers, Message: message}
}

// windowClosed holds a node outside its windows, and inside an exclusion.
func windowClosed(c *cluster, n *node) fleet.Hold {
	return c.windows.lookup(c.classOf(n), c.now).hold
}

// windowCloses returns when the window closes that is open for the node.
func windowCloses(c *cluster, n *node) *time.Time {
	return c.windows.lookup(c.classOf(n), c.now).closes
}

// classOf returns the class of nodes with the same windows. A node that was up to
// date when it was placed, and has begun all the same, has none yet.
func (c *cluster) classOf(n *node) *class {
	if n.class != nil {
		return n.class
	}
	return c.windows.classOf(n.Labels, c.target.typeFor(n))
}

// timeTooShort holds a node that is not expected to be done before its window closes.
// For a node that has begun it applies only until the node has taken its slot.
func timeTooShort(s *survey, n *node) fleet.Hold {
	need := s.expectedDuration(n)
	if n.busy() {
		if n.status.Step != v1alpha1.StepLocking || n.holdsLease() || n.spec.ExpectedSeconds == nil {
			return fleet.Hold{}
		}
		need = time.Duration(*n.spec.ExpectedSeconds) * time.Second
	}
	class := s.cluster.classOf(n)
	available := s.cluster.windows.lookup(class, s.cluster.now)
	switch {
	case available.fits(s.cluster.now, need):
		return fleet.Hold{}
	case s.cluster.brief:
		return fleet.Hold{Reason: v1alpha1.ReasonInsufficientTime}
	}
	return s.cluster.windows.tooShort(class, available, need)
}
