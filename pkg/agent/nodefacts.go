package agent

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// factsTold is how old the facts in the status may be while nothing changes:
// whoever reads them sees by it that an agent is still looking.
const factsTold = 10 * time.Minute

// nodeFacts are those that the host's files, update_engine and etcd told last.
// What etcd said stands until this agent has asked it.
func (a *Agent) nodeFacts(told *v1alpha1.NodeFacts) v1alpha1.NodeFacts {
	facts := *a.seen.facts.Node.DeepCopy()
	facts.UpdateEngine = a.engine.status
	if a.engine.problem != "" {
		facts.Problems = append(facts.Problems, a.engine.problem)
	}
	facts.Etcd = a.etcd.facts
	if a.etcd.at.IsZero() && told != nil {
		facts.Etcd = told.Etcd
	}
	return facts
}

// toTell are the facts that the status shall have: those that stand there, until
// something worth telling has changed or they are old.
func toTell(told *v1alpha1.NodeFacts, found v1alpha1.NodeFacts, now time.Time) *v1alpha1.NodeFacts {
	if told != nil && now.Sub(told.GatheredAt.Time) < factsTold && equality.Semantic.DeepEqual(withoutSizes(*told), withoutSizes(found)) &&
		!roomChanged(told.Disks, found.Disks) && !moved(databaseBytes(told), databaseBytes(&found)) {
		return told
	}
	return &found
}

// withoutSizes leaves out what is never the same twice.
func withoutSizes(f v1alpha1.NodeFacts) v1alpha1.NodeFacts {
	f.GatheredAt = metav1.Time{}
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

// roomChanged is for disks of the same paths.
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

// moved is true for a size that is a tenth more or less than it was: every
// program that writes a log changes it by a little.
func moved(before, after int64) bool {
	change := after - before
	return max(change, -change) > max(before, after)/10
}
