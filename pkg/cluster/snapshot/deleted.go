package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// deletions are the ClusterUpgrades that were deleted before they had ended, as the watch saw them last. Those that are
// deleted while no coordinator watches are never known.
type deletions struct {
	lock  sync.Mutex
	byUID map[types.UID]v1alpha1.ClusterUpgrade
}

// note notes an object that was deleted.
func (d *deletions) note(object any) {
	if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	u, ok := object.(*v1alpha1.ClusterUpgrade)
	if !ok || u.Status.Outcome != "" {
		return
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.byUID == nil {
		d.byUID = map[types.UID]v1alpha1.ClusterUpgrade{}
	}
	d.byUID[u.UID] = *u
}

// noteReplaced notes an object that was deleted and created again while the watch was interrupted.
func (d *deletions) noteReplaced(before, after any) {
	was, ok := before.(*v1alpha1.ClusterUpgrade)
	if now, same := after.(*v1alpha1.ClusterUpgrade); ok && same && was.UID != now.UID {
		d.note(was)
	}
}

// unrecorded returns those that have no record, sorted by name, and forgets the others.
func (d *deletions) unrecorded(records []v1alpha1.UpgradeRecord) []v1alpha1.ClusterUpgrade {
	d.lock.Lock()
	defer d.lock.Unlock()
	for i := range records {
		delete(d.byUID, types.UID(records[i].Spec.Upgrade.UID))
	}
	return slices.SortedFunc(maps.Values(d.byUID), func(a, b v1alpha1.ClusterUpgrade) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
}
