package agent

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// members returns this node's own member, which is the first, and the others. etcd always
// lists the member that answers.
func (v *etcdView) members() (own v1alpha1.EtcdMember, others []v1alpha1.EtcdMember) {
	return v.facts.Members[0], v.facts.Members[1:]
}

// voters returns the voting members. This node's own has the node's name.
func (v *etcdView) voters(node string) []fleet.StaticPod {
	var list []fleet.StaticPod
	own, others := v.members()
	own.Name = node
	for _, m := range append([]v1alpha1.EtcdMember{own}, others...) {
		if !m.Learner {
			list = append(list, fleet.StaticPod{Node: m.Name, Ready: m.Healthy})
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
		_, others := a.etcd.members()
		hold.Message += describeUnhealthy(others)
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
	}
	if own, _ := a.etcd.members(); !own.Healthy {
		return fmt.Errorf("this node's member of etcd %s", own.Problem)
	}
	voters, healthy := a.etcd.voters(a.Node), 0
	for _, one := range voters {
		if one.Ready {
			healthy++
		}
	}
	if healthy < fleet.Majority(len(voters)) {
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
