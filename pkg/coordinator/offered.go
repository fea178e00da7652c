package coordinator

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// maxOffered is how many versions an UpgradePolicy's status may list.
const maxOffered = 32

// newestOffered returns the versions that the source offers and that an upgrade may
// reach by itself, newest first, with the time at which the coordinator first saw each:
// the newest release of each minor, and in a minor that nodes run each one that is
// newer than the oldest of them. While the source offers nothing because of a problem,
// what was seen before stays: its age keeps counting.
func newestOffered(known []v1alpha1.OfferedVersion, s fleet.Snapshot, now time.Time) []v1alpha1.OfferedVersion {
	if len(s.Source.Offers) == 0 && s.Source.Problem.Reason != "" {
		return known
	}
	seen := map[string]metav1.Time{}
	for _, one := range known {
		seen[one.Version] = one.FirstSeenTime
	}
	var list []v1alpha1.OfferedVersion
	newest, runs := map[string]bool{}, oldestKubelets(s.Nodes)
	for _, v := range releases(s.Source) {
		oldest, run := runs[v.Line()]
		newer := run && oldest.Less(v)
		if newest[v.Line()] && !newer || len(list) == maxOffered {
			continue
		}
		newest[v.Line()] = true
		first, found := seen[v.String()]
		if !found {
			first = metav1.NewTime(now.UTC().Truncate(time.Second))
		}
		list = append(list, v1alpha1.OfferedVersion{Version: v.String(), FirstSeenTime: first})
	}
	return list
}

// releases returns the versions on offer, newest first, without pre-releases, which
// no upgrade reaches by itself.
func releases(source fleet.Source) []version.Version {
	var list []version.Version
	for _, offer := range source.Offers {
		if v, err := version.Parse(offer.Version); err == nil && v.Pre == "" {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b version.Version) int { return b.Compare(a) })
	return slices.Compact(list)
}

// oldestKubelets returns the oldest kubelet of each minor.
func oldestKubelets(nodes []fleet.Node) map[string]version.Version {
	oldest := map[string]version.Version{}
	for _, n := range nodes {
		v, err := version.Parse(n.Kubelet)
		if known, found := oldest[v.Line()]; err == nil && (!found || v.Less(known)) {
			oldest[v.Line()] = v
		}
	}
	return oldest
}
