package rules

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Label holds a node whose labels include the hold label. The agent calls it again
// with what it reads itself.
func Label(nodeLabels map[string]string) clusterstate.Hold {
	if _, held := nodeLabels[v1alpha1.HoldLabel]; !held {
		return clusterstate.Hold{}
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonOnHold, Message: "the Node has the label " + v1alpha1.HoldLabel}
}

// upgradeFilter holds a whole upgrade because a person decided so.
type upgradeFilter func(u *v1alpha1.ClusterUpgrade, now time.Time) clusterstate.Hold

// upgradeFilters are the holds that people put on a whole upgrade, in any order.
var upgradeFilters = []upgradeFilter{suspended, notStarted, notApproved}

// Upgrade returns the first hold that a person put on the upgrade.
func Upgrade(u *v1alpha1.ClusterUpgrade, now time.Time) clusterstate.Hold {
	for _, filter := range upgradeFilters {
		if hold := filter(u, now); hold.Holds() {
			return hold
		}
	}
	return clusterstate.Hold{}
}

func suspended(u *v1alpha1.ClusterUpgrade, _ time.Time) clusterstate.Hold {
	if !u.Spec.Suspend {
		return clusterstate.Hold{}
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonSuspended, Message: fmt.Sprintf("upgrade %s is suspended", u.Name)}
}

func notStarted(u *v1alpha1.ClusterUpgrade, now time.Time) clusterstate.Hold {
	start := u.Spec.StartTime
	if start == nil || !now.Before(start.Time) {
		return clusterstate.Hold{}
	}
	announced := ""
	if u.Annotations[v1alpha1.CreatedByAnnotation] == v1alpha1.CreatedByCoordinator {
		announced = "is announced, and "
	}
	message := fmt.Sprintf("upgrade %s %sstarts %s", u.Name, announced, clusterstate.FormatTime(start.Time))
	return clusterstate.Hold{Reason: v1alpha1.ReasonNotStarted, Message: message, Until: &start.Time}
}

// notApproved holds the whole upgrade until a person approves it, and after its end the
// nodes that join late.
func notApproved(u *v1alpha1.ClusterUpgrade, _ time.Time) clusterstate.Hold {
	if u.Status.Strategy.Approval != v1alpha1.ApprovalRequired || u.Spec.Approved.Upgrade {
		return clusterstate.Hold{}
	}
	message := fmt.Sprintf("upgrade %s waits for an approval: spec.approved.upgrade", u.Name)
	return clusterstate.Hold{Reason: v1alpha1.ReasonApprovalRequired, Message: message}
}

// Clock returns the hold for a clock that is ahead of the API server's, or behind it if ahead
// is less than zero. Zero: it is right.
func Clock(whose string, ahead time.Duration) clusterstate.Hold {
	side := "ahead of"
	switch {
	case ahead == 0:
		return clusterstate.Hold{}
	case ahead < 0:
		side, ahead = "behind", -ahead
	}
	message := fmt.Sprintf("the clock of %s is %s %s the API server's, and windows are judged by it: set it, and check its time synchronization",
		whose, ahead.Round(10*time.Second), side)
	return clusterstate.Hold{Reason: v1alpha1.ReasonClockDiffers, Message: message}
}
