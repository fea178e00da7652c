package agent

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// factsChanged reports whether facts changed. Sizes must change by a tenth or more, as
// thousands of agents write them.
func factsChanged(written, found v1alpha1.NodeFacts) bool {
	return !equality.Semantic.DeepEqual(withoutSizes(written), withoutSizes(found)) ||
		freeSpaceChanged(written.Disks, found.Disks) || changedByTenth(databaseBytes(&written), databaseBytes(&found))
}

// withoutSizes returns f without times and sizes, which always change.
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

// freeSpaceChanged reports whether the free space of the same disks changed.
func freeSpaceChanged(before, after []v1alpha1.DiskFacts) bool {
	for i := range before {
		if changedByTenth(before[i].FreeBytes, after[i].FreeBytes) {
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

// changedByTenth reports whether a size is a tenth more or less than it was: every
// program that writes a log changes it by a little.
func changedByTenth(before, after int64) bool {
	change := after - before
	return max(change, -change) > max(before, after)/10
}
