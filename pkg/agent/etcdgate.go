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

// voters returns the members that count for a majority, this node's own by its
// name.
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

// etcdHold keeps a control-plane node in service whose member etcd needs now, and
// any of which is not known whether it does, unless that check is ignored.
func (a *Agent) etcdHold(o machine.Observation, upgrade v1alpha1.ClusterUpgradeSpec) fleet.Hold {
	facts := a.etcd.facts
	if o.Host == nil || !o.Host.ControlPlane || facts == nil || upgrade.Ignores(preflight.EtcdQuorum) {
		return fleet.Hold{}
	}
	if facts.Problem != "" {
		return fleet.Hold{Reason: v1alpha1.ReasonEtcdQuorum, Message: "it is not known whether etcd can do without this node: " + facts.Problem}
	}
	voters := a.etcd.voters(a.Node)
	hold := plan.EtcdGate(voters, len(voters), a.Node)
	if hold.Reason != "" {
		hold.Message += unwell(facts.Members[1:])
	}
	return hold
}

// etcdUnwell returns what is wrong with etcd after this node was worked on: its own
// member has to be well again, and a majority with it.
func (a *Agent) etcdUnwell() error {
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
		return fmt.Errorf("%d of etcd's %d members are healthy%s", healthy, len(voters), unwell(facts.Members))
	}
	return nil
}

// unwell tells of the members that are not healthy.
func unwell(members []v1alpha1.EtcdMember) string {
	text := ""
	for _, m := range members {
		if !m.Healthy {
			text += fmt.Sprintf("; member %s %s", m.Name, m.Problem)
		}
	}
	return text
}
