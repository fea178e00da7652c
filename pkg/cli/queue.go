package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// comesFirst are the upgrades to a version that the one that is wanted waits for.
// One that takes another's place waits for the one at work alone.
func comesFirst(upgrades []v1alpha1.ClusterUpgrade, wanted *v1alpha1.ClusterUpgrade) []*v1alpha1.ClusterUpgrade {
	replaced := wanted.Spec.RetryOf
	open := active(upgrades)
	if i := slices.IndexFunc(open, func(u *v1alpha1.ClusterUpgrade) bool { return u.Name == wanted.Name }); i >= 0 {
		open = open[:i]
	}
	return slices.DeleteFunc(open, func(u *v1alpha1.ClusterUpgrade) bool {
		later := replaced != "" && (u.Name == replaced || u.Status.TriggerTime == nil)
		return later || stepsAside(u) || u.DeletionTimestamp != nil || u.Spec.Version == ""
	})
}

// highest is the newest version that one of them asks for, and which that is; nil
// without one.
func highest(upgrades []*v1alpha1.ClusterUpgrade) (u *v1alpha1.ClusterUpgrade, to version.Version) {
	for _, one := range upgrades {
		if v, err := version.Parse(one.Spec.Version); err == nil && (u == nil || to.Less(v)) {
			u, to = one, v
		}
	}
	return u, to
}

// refuseQueue is for a version that those which come first leave behind: it could
// not begin once it is its turn.
func refuseQueue(upgrades []v1alpha1.ClusterUpgrade, wanted *v1alpha1.ClusterUpgrade) error {
	to, err := version.Parse(wanted.Spec.Version)
	if err != nil {
		return err
	}
	if u, first := highest(comesFirst(upgrades, wanted)); u != nil && to.Less(first) {
		next := "ask for a newer version"
		if u.Status.TriggerTime == nil {
			next += fmt.Sprintf(", or take that one back: `kubectl delete clusterupgrade %s`", u.Name)
		}
		return fmt.Errorf("ClusterUpgrade %s has not ended and comes first, and Kubernetes cannot be downgraded from its %s to %s: %s", u.Name, first, to, next)
	}
	return nil
}

// leads is the version that those which come first leave the cluster at, where only
// they make the way to the one that is wanted: the minor in between. False: the way
// is judged from what runs now.
func leads(s fleet.Snapshot, wanted *v1alpha1.ClusterUpgrade) (version.Version, bool) {
	to, err := version.Parse(wanted.Spec.Version)
	u, first := highest(comesFirst(s.Upgrades, wanted))
	if err != nil || u == nil || to.Less(first) {
		return first, false
	}
	for _, server := range s.APIServers {
		var refused *version.Refusal
		from, err := version.Parse(server.Version)
		if err == nil && from.Less(first) && errors.As(version.CheckStep(from, to), &refused) && refused.Rule == version.RuleSkippedMinor {
			return first, true
		}
	}
	return first, false
}

// treated says what a plan for the one that is wanted makes of those which come
// first.
func treated(s fleet.Snapshot, wanted *v1alpha1.ClusterUpgrade) string {
	if _, only := leads(s, wanted); only {
		return "begins where that ends"
	}
	return "leaves that out"
}
