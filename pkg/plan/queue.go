package plan

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// unfinished are the upgrades that have not ended, the active one first, then
// the queue: oldest first, and one that takes another's place in that place.
func unfinished(upgrades []v1alpha1.ClusterUpgrade) []*v1alpha1.ClusterUpgrade {
	var open []*v1alpha1.ClusterUpgrade
	joined := map[*v1alpha1.ClusterUpgrade]metav1.Time{}
	for i := range upgrades {
		if upgrades[i].Status.Outcome == "" && upgrades[i].DeletionTimestamp == nil {
			u := upgrades[i].DeepCopy()
			open, joined[u] = append(open, u), place(u, upgrades)
		}
	}
	slices.SortFunc(open, func(a, b *v1alpha1.ClusterUpgrade) int {
		return cmp.Or(
			triggeredLast(a)-triggeredLast(b),
			joined[a].Compare(joined[b].Time),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return open
}

// triggeredLast keeps the one that has begun in front, should an older one
// turn up.
func triggeredLast(u *v1alpha1.ClusterUpgrade) int {
	if u.Status.TriggerTime != nil {
		return 0
	}
	return 1
}
