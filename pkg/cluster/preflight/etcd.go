package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// EtcdQuorum is the id of the check that the planner and the agents repeat before a node
// begins, unless the upgrade ignores it.
const EtcdQuorum = "etcd-quorum"

var etcdChecks = []Entry{
	{
		"etcd-member", blocks,
		"a member of etcd is not healthy, or is still a learner",
		"Read its log (kubectl -n kube-system logs on its pod); wait until it has caught up, or remove a member whose node is gone.",
	},
	{
		EtcdQuorum, blocks,
		"etcd would lose its majority with one more member down; with two members that is always so",
		"Bring the members back, or add a third control-plane node.",
	},
	{
		"etcd-single", warns,
		"etcd has a single member: the API is unavailable while its node is upgraded",
		"Choose a time when that is fine, or add two control-plane nodes first.",
	},
	{
		"etcd-version", blocks,
		"a member's version is too old for the target: 1.34 brings etcd 3.6, which only 3.5.26 and later may be upgraded to, and 1.36 does not support etcd before 3.6",
		"Bring etcd to 3.5.26 before an upgrade to 1.34, and to 3.6 before one to 1.36.",
	},
	{
		"etcd-unknown", blocks,
		"a control-plane node's agent cannot report the health of etcd",
		"Check etcd's pod on that node, and the agent's log (kubectl -n kubectl-upgrade logs).",
	},
	{
		"etcd-external", mandatory,
		"etcd does not run on the control-plane nodes, where no snapshot of it can be taken, and strategy.etcdSnapshot requires one",
		"Take a snapshot where etcd runs (etcdctl snapshot save), and set strategy.etcdSnapshot: Skip.",
	},
}

// checkEtcd checks the members while the upgrade has still to stop one of them. The
// upgrade of a worker stops none.
func (c *checker) checkEtcd() {
	if !c.controlPlaneMoves() {
		return
	}
	c.checkExternal()
	members := c.etcdMembers()
	var voters, healthy int
	for _, name := range slices.Sorted(maps.Keys(members)) {
		m := members[name]
		switch {
		case m.Learner:
			c.onMember(name, "etcd-member", fmt.Sprintf("Member %s of etcd is still a learner.", name), "")
		case m.Healthy:
			voters, healthy = voters+1, healthy+1
		default:
			voters++
			c.onMember(name, "etcd-member", fmt.Sprintf("Member %s of etcd is not healthy%s.", name, because(m.Problem)), "")
		}
		c.checkEtcdVersion(name, m.Version)
	}
	c.checkQuorum(voters, healthy)
}

// checkExternal finds an upgrade that needs a snapshot although no member of etcd runs on
// a control-plane node, according to pods and agents.
func (c *checker) checkExternal() {
	skip := c.strategy.EtcdSnapshot == v1alpha1.EtcdSnapshotSkip
	stacked := slices.ContainsFunc(c.static, func(p staticPod) bool { return p.component == etcdServer })
	local := slices.ContainsFunc(c.controlPlanes(), func(n *node) bool { return n.facts == nil || n.facts.Etcd != nil })
	waits := slices.ContainsFunc(c.controlPlanes(), c.runsKubeadm)
	if waits && !skip && !stacked && !local && c.Upgrade.Status.EtcdSnapshot == nil {
		c.add(v1alpha1.Finding{ID: "etcd-external", Message: "etcd does not run on the control-plane nodes: no snapshot of it can be taken there, and strategy.etcdSnapshot requires one before kubeadm runs."})
	}
}

func (c *checker) onMember(name, id, message, advice string) {
	c.add(v1alpha1.Finding{ID: id, Object: v1alpha1.ObjectReference{Kind: "EtcdMember", Name: name}, Message: message, Advice: advice})
}

// etcdMembers returns all members that an agent reports. If two agents disagree about a
// member, the less healthy report counts.
func (c *checker) etcdMembers() map[string]v1alpha1.EtcdMember {
	members := map[string]v1alpha1.EtcdMember{}
	has := map[string]bool{}
	for _, pod := range c.static {
		has[pod.node] = has[pod.node] || pod.component == etcdServer
	}
	for _, n := range c.controlPlanes() {
		switch {
		case n.facts == nil:
			continue
		case n.facts.Etcd == nil && has[n.name]:
			c.onNode(n, v1alpha1.Finding{ID: "etcd-unknown", Message: fmt.Sprintf("The agent on %s does not report the health of etcd.", n.name)})
			continue
		case n.facts.Etcd == nil:
			continue
		case n.facts.Etcd.Problem != "":
			c.onNode(n, v1alpha1.Finding{ID: "etcd-unknown", Message: fmt.Sprintf("The agent on %s cannot query etcd: %s.", n.name, sentence(n.facts.Etcd.Problem))})
		}
		for _, m := range n.facts.Etcd.Members {
			if known, ok := members[m.Name]; ok {
				m = lessHealthy(known, m)
			}
			members[m.Name] = m
		}
	}
	return members
}

// lessHealthy merges two reports about one member.
func lessHealthy(a, b v1alpha1.EtcdMember) v1alpha1.EtcdMember {
	if a.Healthy && !b.Healthy {
		a.Healthy, a.Problem = false, b.Problem
	}
	a.Learner = a.Learner || b.Learner
	if older(b.Version, a.Version) {
		a.Version = b.Version
	}
	return a
}

func (c *checker) checkQuorum(voters, healthy int) {
	majority := fleet.Majority(voters)
	switch {
	case voters == 0:
	case voters == 1:
		c.add(v1alpha1.Finding{ID: "etcd-single", Message: "etcd has a single member, so the API is unavailable while its node is upgraded."})
	case voters > 1 && healthy-1 < majority:
		c.add(v1alpha1.Finding{
			ID:      EtcdQuorum,
			Message: fmt.Sprintf("etcd has %d members, %d of them healthy; with one more down, %d would be left, and the quorum is %d.", voters, healthy, max(healthy-1, 0), majority),
		})
	}
}

// because returns ": why", or nothing if why is not known.
func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + sentence(why)
}

// sentence returns a message of another program as a part of a sentence.
func sentence(s string) string { return strings.TrimRight(strings.TrimSpace(s), ".") }
