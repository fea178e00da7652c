package plan

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// NewerPatch returns the newest patch of the kubelet's minor that the source offers, and when the
// coordinator first saw one that is newer than the kubelet. Nil: there is none. The policy may be nil.
func NewerPatch(policy *v1alpha1.UpgradePolicy, kubelet string) (newest string, since *time.Time) {
	runs, err := version.Parse(kubelet)
	if err != nil || policy == nil {
		return "", nil
	}
	highest := runs
	for i := range policy.Status.Offered {
		offered := &policy.Status.Offered[i]
		v, err := version.Parse(offered.Version)
		if err != nil || v.Line() != runs.Line() || !runs.Less(v) {
			continue
		}
		if highest.Less(v) {
			newest, highest = offered.Version, v
		}
		if since == nil || offered.FirstSeenTime.Time.Before(*since) {
			since = &offered.FirstSeenTime.Time
		}
	}
	return newest, since
}
