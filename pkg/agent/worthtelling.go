package agent

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// worthTelling reports whether facts changed, sizes by a tenth or more: thousands
// of agents write them.
func worthTelling(told, found v1alpha1.NodeFacts) bool {
	return !equality.Semantic.DeepEqual(withoutSizes(told), withoutSizes(found)) ||
		roomChanged(told.Disks, found.Disks) || moved(databaseBytes(&told), databaseBytes(&found))
}

// withoutSizes leaves out what is never the same twice.
func withoutSizes(f v1alpha1.NodeFacts) v1alpha1.NodeFacts {
	f.GatheredTime = metav1.Time{}
	f.Disks = slices.Clone(f.Disks)
	for i := range f.Disks {
		f.Disks[i].FreeBytes = 0
	}
	if f.Etcd != nil {
		f.Etcd = f.Etcd.DeepCopy()
		f.Etcd.DatabaseBytes = 0
	}
	return f
}

// roomChanged reports whether the room on disks changed, whose paths are the same.
func roomChanged(before, after []v1alpha1.DiskFacts) bool {
	for i := range before {
		if moved(before[i].FreeBytes, after[i].FreeBytes) {
			return true
		}
	}
	return false
}

func databaseBytes(f *v1alpha1.NodeFacts) int64 {
	if f.Etcd == nil {
		return 0
	}
	return f.Etcd.DatabaseBytes
}

// moved reports whether a size is a tenth more or less than it was: every
// program that writes a log changes it by a little.
func moved(before, after int64) bool {
	change := after - before
	return max(change, -change) > max(before, after)/10
}
