package coordinator

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// maxOffered is how many versions an UpgradePolicy's status may list.
const maxOffered = 32

// newestOffered returns the newest version of each minor that the source offers,
// newest first, with the time at which the coordinator first saw it. While the
// source offers nothing because of a problem, what was seen before stays: its age
// goes on.
func newestOffered(known []v1alpha1.OfferedVersion, source fleet.Source, now time.Time) []v1alpha1.OfferedVersion {
	if len(source.Offers) == 0 && source.Problem.Reason != "" {
		return known
	}
	seen := map[string]metav1.Time{}
	for _, one := range known {
		seen[one.Version] = one.FirstSeenTime
	}
	newest := map[string]version.Version{}
	for _, offer := range source.Offers {
		v, err := version.Parse(offer.Version)
		if best, found := newest[v.Line()]; err == nil && (!found || best.Less(v)) {
			newest[v.Line()] = v
		}
	}
	var list []v1alpha1.OfferedVersion
	for _, v := range slices.SortedFunc(maps.Values(newest), func(a, b version.Version) int { return b.Compare(a) }) {
		first, found := seen[v.String()]
		if !found {
			first = metav1.NewTime(now.UTC().Truncate(time.Second))
		}
		list = append(list, v1alpha1.OfferedVersion{Version: v.String(), FirstSeenTime: first})
	}
	return list[:min(len(list), maxOffered)]
}
