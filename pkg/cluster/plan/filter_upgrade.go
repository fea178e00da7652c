package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

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
	return fleet.Hold{
		Reason: v1alpha1.ReasonNotStarted, Message: fmt.Sprintf("upgrade %s starts %s", u.Name, clock(start.Time)), Until: &start.Time,
	}
}
