package metrics

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// fleetVersions adds how many nodes have the image of each version, and how many lack a
// patch that the source offers.
func (s *scrape) fleetVersions() {
	staged, lacking := map[string]int{}, map[string]int{}
	if s.Plan.Version != "" {
		staged[s.Plan.Version] = 0
	}
	for n := range s.managed {
		if n.upgrade == nil || n.upgrade.Status.LacksImage() {
			continue
		}
		lacking[s.version(n.Kubelet)]++
		if v := n.upgrade.Status.Versions.Staged; v != "" && v != n.Kubelet {
			staged[s.version(v)]++
		}
	}
	for v, count := range staged {
		s.set(nodesStaged, float64(count), v)
	}
	for v, count := range lacking {
		since := s.behindSince(v)
		if since == nil {
			count = 0
		}
		s.set(nodesBehind, float64(count), v)
		s.at(nodesBehindStart, since, v)
	}
}

// behindSince returns when the coordinator first saw a newer patch of the version's minor;
// nil: there is none.
func (s *scrape) behindSince(kubelet string) *time.Time {
	runs, err := version.Parse(kubelet)
	if err != nil || s.Snapshot.Policy == nil {
		return nil
	}
	var first *time.Time
	for i := range s.Snapshot.Policy.Status.Offered {
		offered := &s.Snapshot.Policy.Status.Offered[i]
		v, err := version.Parse(offered.Version)
		if err != nil || v.Line() != runs.Line() || !runs.Less(v) {
			continue
		}
		if first == nil || offered.FirstSeenTime.Time.Before(*first) {
			first = &offered.FirstSeenTime.Time
		}
	}
	return first
}
