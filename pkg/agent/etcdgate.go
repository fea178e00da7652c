package agent

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/quorum"
)

// voters returns the voting members. This node's own has the node's name.
func (v *etcdView) voters(node string) []fleet.StaticPod {
	var list []fleet.StaticPod
	for i, m := range v.facts.Members {
		name := m.Name
		if i == 0 {
			name = node
		}
		if !m.Learner {
			list = append(list, fleet.StaticPod{Node: name, Ready: m.Healthy})
		}
	}
	return list
}

// etcdHold holds a control-plane node whose member etcd needs for its majority, or if that
// is not known, unless the upgrade ignores the check.
func (a *Agent) etcdHold(o machine.Observation, upgrade v1alpha1.ClusterUpgradeSpec) fleet.Hold {
	facts := a.etcd.facts
	if o.Host == nil || !o.Host.ControlPlane || facts == nil || upgrade.Ignores(preflight.EtcdQuorum) {
		return fleet.Hold{}
	}
	if facts.Problem != "" {
		return fleet.Hold{Reason: v1alpha1.ReasonEtcdQuorum, Message: "could not determine whether etcd keeps its majority without this node: " + facts.Problem}
	}
	voters := a.etcd.voters(a.Node)
	hold := plan.EtcdGate(voters, len(voters), a.Node)
	if hold.Reason != "" {
		hold.Message += describeUnhealthy(facts.Members[1:])
	}
	return hold
}

// etcdHealth returns an error unless this node's member and a majority are healthy.
func (a *Agent) etcdHealth() error {
	facts := a.etcd.facts
	switch {
	case facts == nil:
		return nil
	case facts.Problem != "":
		return fmt.Errorf("etcd: %s", facts.Problem)
	case !facts.Members[0].Healthy:
		return fmt.Errorf("this node's member of etcd %s", facts.Members[0].Problem)
	}
	voters, healthy := a.etcd.voters(a.Node), 0
	for _, one := range voters {
		if one.Ready {
			healthy++
		}
	}
	if healthy < quorum.Majority(len(voters)) {
		return fmt.Errorf("%d of etcd's %d members are healthy%s", healthy, len(voters), describeUnhealthy(facts.Members))
	}
	return nil
}

// describeUnhealthy returns the problems of unhealthy members, for a message.
func describeUnhealthy(members []v1alpha1.EtcdMember) string {
	text := ""
	for _, m := range members {
		if !m.Healthy {
			text += fmt.Sprintf("; member %s %s", m.Name, m.Problem)
		}
	}
	return text
}
