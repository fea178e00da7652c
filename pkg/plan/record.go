package plan

import (
	"math"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// The limits of a record. The API's limit is on the number of nodes; etcd's, by
// default 1.5 MiB for a whole request, is on what they take: a record that it
// refused would keep the upgrade from ever ending.
// https://etcd.io/docs/v3.6/dev-guide/limit/.
const (
	maxRecord      = 5000
	maxRecordBytes = 1 << 20
	// entryBytes is what an entry takes at most beside its texts.
	entryBytes = 200
)

// record says how each node went in that upgrade: the first nodes in their order,
// where there are more than it may hold. Unsupported nodes are no part of it.
func (d *decider) record(upgrade string) []v1alpha1.NodeRecord {
	var list []v1alpha1.NodeRecord
	room := maxRecordBytes
	for _, n := range d.nodes {
		if n.unsupported() {
			continue
		}
		r := n.record(upgrade)
		if room -= entryBytes + len(r.Name) + len(r.From) + len(r.To) + len(r.Reason); len(list) == maxRecord || room < 0 {
			break
		}
		list = append(list, r)
	}
	return list
}

func (n *node) record(upgrade string) v1alpha1.NodeRecord {
	r := v1alpha1.NodeRecord{Name: n.Name, From: n.Kubelet, To: n.Kubelet}
	if n.decision != Done {
		r.Reason = n.hold.Reason
	}
	if n.status.Upgrade != upgrade {
		return r // it was never asked for anything
	}
	r.From, r.Attempts = or(n.status.FromVersion, n.Kubelet), n.status.Attempts
	for _, step := range n.status.Steps {
		if step.Step == v1alpha1.StepLocking && r.StartedAt == nil {
			r.StartedAt = wholeSecond(step.StartedAt.Time)
		}
		if step.Step == v1alpha1.StepUnlocking && step.FinishedAt != nil && n.decision == Done {
			r.FinishedAt = wholeSecond(step.FinishedAt.Time)
		}
	}
	for _, s := range n.passes() {
		*s.part.seconds(&r) = int32(min(math.Ceil(s.took.Seconds()), math.MaxInt32))
	}
	return r
}
