package agent

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// readSnapshot reads the result of the verb snapshot, for the status.
func (a *Agent) readSnapshot(last *verb.Result, o *machine.Observation) {
	var out verb.SnapshotOutput
	if err := last.Decode(&out); err != nil {
		work := o.Work[verb.Snapshot]
		work.OK, work.Message = false, "what the snapshot left cannot be read: "+err.Error()
		o.Work[verb.Snapshot] = work
		return
	}
	o.EtcdSnapshot = &v1alpha1.EtcdSnapshot{
		Node: a.Node, Path: out.Path, Digest: v1alpha1.DigestOf(out.SHA256), CreationTime: *timeOf(out.TakenAt),
	}
}
