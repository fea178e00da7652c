package request

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// supposed is the name and UID of an upgrade that does not exist. No object can bear
// it: so no node takes it for the one that it is at work for.
const supposed = "(supposed)"

// supposedUpgrade returns u as if it had been created at that instant.
func supposedUpgrade(u *v1alpha1.ClusterUpgrade, at time.Time) v1alpha1.ClusterUpgrade {
	one := *u.DeepCopy()
	one.Name, one.UID, one.CreationTimestamp = supposed, supposed, metav1.NewTime(at)
	return one
}

// IsSupposed reports whether the upgrade of that name is one that does not exist.
func IsSupposed(name string) bool { return name == supposed }

// Suppose returns the snapshot with u as the active upgrade, in place of those that
// have not ended; where u is possible only after them, as if they had succeeded. If
// the index of images was not read, the image of u is taken to be on offer.
func Suppose(s fleet.Snapshot, u *v1alpha1.ClusterUpgrade, at time.Time) fleet.Snapshot {
	if first, later := startsFrom(s, u, at); later {
		s = reached(s, first)
	}
	s.Upgrades = slices.DeleteFunc(slices.Clone(s.Upgrades), func(u v1alpha1.ClusterUpgrade) bool { return u.Status.Outcome == "" })
	s.Upgrades = append(s.Upgrades, supposedUpgrade(u, at))
	s.Source = presumed(s)
	return s
}

// SupposeVersion returns the snapshot with an upgrade to that version as the active
// one: the one that exists, or a supposed one. The notes say what it took for granted.
func SupposeVersion(s fleet.Snapshot, text string, at time.Time) (_ fleet.Snapshot, notes []string, err error) {
	to, note, err := resolve(s, text)
	if err != nil {
		return s, nil, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	if u := unfinishedTo(s, text, false, at); u != nil && u.Spec.Version != to.String() {
		notes = append(notes, fmt.Sprintf("`kubectl upgrade apply %s` comes back to ClusterUpgrade %s, which asks for %s.", text, u.Name, u.Spec.Version))
	}
	u := &v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Version: to.String()}}
	queue := queueOf(s, at)
	existing := slices.IndexFunc(queue, func(one plan.Queued) bool { return one.Spec.Version == to.String() })
	if existing >= 0 {
		u = queue[existing].ClusterUpgrade
	}
	for _, first := range before(s, u, at) {
		notes = append(notes, fmt.Sprintf("ClusterUpgrade %s would come before it; this plan %s.", first.Name, startNote(s, u, at)))
	}
	if existing >= 0 {
		note := fmt.Sprintf("ClusterUpgrade %s asks for %s already: this is its plan.", u.Name, to)
		if first, later := startsFrom(s, u, at); later {
			s = reached(s, first)
			note += fmt.Sprintf(" It begins where those before it end, at %s.", first)
		}
		s.Upgrades = []v1alpha1.ClusterUpgrade{*u}
		return s, append(notes, note), nil
	}
	if err := RefuseDowngrade(s, u, at); err != nil {
		notes = append(notes, fmt.Sprintf("`kubectl upgrade apply %s` would be refused: %s.", text, err))
	}
	if s.Source.Problem.Reason == v1alpha1.ReasonSourceUnavailable {
		notes = append(notes, fmt.Sprintf("The index of images was not read (%s); this plan assumes that %s is available.", s.Source.Problem.Message, to))
	}
	return Suppose(s, u, at), notes, nil
}

// presumed returns the source of images. If its index was not read, each unfinished
// upgrade's image is taken to be on offer for every node.
func presumed(s fleet.Snapshot) fleet.Source {
	if s.Source.Problem.Reason != v1alpha1.ReasonSourceUnavailable {
		return s.Source
	}
	var source fleet.Source
	for _, u := range s.Upgrades {
		for _, n := range s.Nodes {
			if u.Status.Outcome == "" && u.Spec.Version != "" && !slices.Contains(source.Architectures(u.Spec.Version), n.Architecture) {
				source.Offers = append(source.Offers, fleet.Offer{Version: u.Spec.Version, Image: v1alpha1.Image{Architecture: n.Architecture}})
			}
		}
	}
	return source
}
