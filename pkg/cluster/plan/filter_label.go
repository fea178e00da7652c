package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// labelMissing holds a node that runs a kube-apiserver, as its agent reports, and has not the
// control plane's label, in an upgrade to a version. The report alone makes no node run kubeadm
// for a control plane, nor take the snapshot of etcd: whoever has the agent's token may write it.
// It does not make it a worker either.
func labelMissing(c *cluster, n *node) fleet.Hold {
	if c.target.reboot || !n.lacksLabel() {
		return fleet.Hold{}
	}
	message := fmt.Sprintf("it reports that it runs a kube-apiserver, and has not the label %s; if it is a control plane: `kubectl label node %s %s=`; if it is not, its agent's report is false",
		fleet.ControlPlaneLabel, n.Name, fleet.ControlPlaneLabel)
	return fleet.Hold{Reason: v1alpha1.ReasonLabelMissing, Message: message}
}
