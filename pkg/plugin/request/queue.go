package request

import (
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// queueOf returns the queue as the coordinator has it, which has read the index of images
// even if the user's machine cannot.
func queueOf(s fleet.Snapshot, at time.Time) []plan.Queued {
	s.Source = presumed(s)
	return plan.Queue(s, at)
}

// before returns the upgrades that end before it is the turn of u, in their order. It
// lets the planner choose the active upgrade again and again, each time as if the
// last one had succeeded. u need not exist yet; the one that u retries is left out.
func before(s fleet.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) (list []*v1alpha1.ClusterUpgrade) {
	uid := u.UID
	if uid == "" {
		created := at
		for _, one := range s.Upgrades { // the API server's clock may be ahead of the user's
			if last := one.CreationTimestamp.Time; !last.Before(created) {
				created = last.Add(time.Second)
			}
		}
		s.Upgrades = append(slices.Clone(s.Upgrades), supposedUpgrade(u, created))
		uid = supposed
	}
	for {
		queue := queueOf(s, at)
		if len(queue) == 0 || queue[0].UID == uid || queue[0].CannotProceed {
			return list
		}
		next, outcome := queue[0].ClusterUpgrade, v1alpha1.OutcomeFailed
		if next.Name != u.Spec.RetryOf {
			list, outcome = append(list, next), v1alpha1.OutcomeSucceeded
			to, _ := version.Parse(next.Spec.Version) // a Reboot has none
			s = reached(s, to)
		}
		s.Upgrades = slices.Clone(s.Upgrades) // list has the upgrades as they were
		i := slices.IndexFunc(s.Upgrades, func(one v1alpha1.ClusterUpgrade) bool { return one.UID == next.UID })
		s.Upgrades[i].Status.Outcome, s.Upgrades[i].Status.CompletionTime = outcome, &metav1.Time{Time: at}
	}
}

// highest returns the upgrade with the newest version, and the version. Nil: none of
// them has one.
func highest(upgrades []*v1alpha1.ClusterUpgrade) (u *v1alpha1.ClusterUpgrade, to version.Version) {
	for _, one := range upgrades {
		if v, err := version.Parse(one.Spec.Version); err == nil && (u == nil || to.Less(v)) {
			u, to = one, v
		}
	}
	return u, to
}

// RefuseDowngrade refuses a version that is older than the one of an upgrade before
// it in the queue: it could not begin once it is its turn.
func RefuseDowngrade(s fleet.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) error {
	to, err := version.Parse(u.Spec.Version)
	if err != nil {
		return err
	}
	first, newest := highest(before(s, u, at))
	if first == nil || !to.Less(newest) {
		return nil
	}
	next := "request a newer version"
	if first.Status.TriggerTime == nil {
		next += fmt.Sprintf(", or delete that one: `kubectl delete clusterupgrade %s`", first.Name)
	}
	return fmt.Errorf("ClusterUpgrade %s has not ended and comes first, and Kubernetes cannot be downgraded from its %s to %s: %s", first.Name, newest, to, next)
}

// startsFrom returns the version at which the upgrades before u leave the cluster, if
// u is possible only after them: they bring the minor in between. False: u is planned
// from what runs now.
func startsFrom(s fleet.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) (version.Version, bool) {
	to, err := version.Parse(u.Spec.Version)
	first, newest := highest(before(s, u, at))
	if err != nil || first == nil || to.Less(newest) {
		return newest, false
	}
	for _, server := range s.APIServers {
		var refused *version.Refusal
		from, err := version.Parse(server.Version)
		if err == nil && from.Less(newest) && errors.As(version.CheckStep(from, to), &refused) && refused.Rule == version.RuleSkippedMinor {
			return newest, true
		}
	}
	return newest, false
}

// Queue returns a note about each upgrade that ends before it is the turn of u.
func Queue(s fleet.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) (notes []string) {
	if u.Spec.RetryOf != "" {
		return nil // it comes next
	}
	for _, first := range before(s, u, at) {
		state := "has not ended"
		if first.Spec.Suspend {
			state = fmt.Sprintf("is suspended (`kubectl upgrade resume %s` resumes it)", first.Name)
		}
		notes = append(notes, fmt.Sprintf("ClusterUpgrade %s %s and comes before it; this plan %s.", first.Name, state, startNote(s, u, at)))
	}
	return notes
}

// startNote says what a plan for u does with the upgrades before it.
func startNote(s fleet.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) string {
	if _, later := startsFrom(s, u, at); later {
		return "begins where that ends"
	}
	return "leaves that out"
}

// Waits says what an existing upgrade waits for until a person acts, or another one
// ends. Each sentence begins with a space.
func Waits(s fleet.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) (sentences string) {
	if u.Spec.Suspend {
		sentences = fmt.Sprintf(" It is suspended: `kubectl upgrade resume %s` resumes it.", u.Name)
	}
	if active := queueOf(s, at)[0]; active.Name != u.Name && !active.CannotProceed {
		sentences += fmt.Sprintf(" It waits until ClusterUpgrade %s has ended.", active.Name)
	}
	return sentences
}
