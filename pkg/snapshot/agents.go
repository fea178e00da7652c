package snapshot

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// agentDaemonSet is the DaemonSet of the agents, as an informer's key.
const agentDaemonSet = v1alpha1.Namespace + "/node-agent"

// Agents returns how many agents should run, and how many are Ready, from memory.
func (r *Reader) Agents() (desired, ready int) {
	object, _, _ := r.daemonSets.GetStore().GetByKey(agentDaemonSet)
	agents, found := object.(*appsv1.DaemonSet)
	if !found {
		return 0, 0
	}
	return int(agents.Status.DesiredNumberScheduled), int(agents.Status.NumberReady)
}
