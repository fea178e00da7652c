package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

var etcdChecks = []Entry{
	{
		"etcd-member", blocks,
		"a member of etcd is not healthy, or is still a learner",
		"Read its log (kubectl -n kube-system logs on its pod); wait until it has caught up, or remove a member whose node is gone.",
	},
	{
		rules.EtcdQuorum, blocks,
		"etcd would lose its majority with one more member down, as with two members always",
		"Bring the members back, or add a third control-plane node.",
	},
	{
		"etcd-single", warns,
		"etcd has a single member: the API is away while its node is upgraded",
		"Choose a time when that is fine, or add two control-plane nodes.",
	},
	{
		"etcd-version", blocks,
		"a member of etcd is too old: only 3.5.26 and later may become 3.6, which 1.34 brings and 1.36 requires",
		"Bring etcd to 3.5.26 before 1.34, and to 3.6 before 1.36.",
	},
	{
		"etcd-unknown", blocks,
		"a control-plane node's agent cannot report the health of etcd",
		"Check etcd's pod on that node, and the agent's log (kubectl -n kubectl-upgrade logs).",
	},
	{
		"etcd-external", mandatory,
		"etcd does not run on the control-plane nodes, so the snapshot that strategy.etcdSnapshotPolicy requires cannot be taken",
		"Take a snapshot where etcd runs (etcdctl snapshot save), and set strategy.etcdSnapshotPolicy: Skip.",
	},
	{
		"etcd-no-snapshot", warns,
		"the version brings another minor of etcd, whose data the former one refuses, and strategy.etcdSnapshotPolicy is Skip",
		"Set strategy.etcdSnapshotPolicy: Required, or take a snapshot yourself first (etcdctl snapshot save).",
	},
}

// checkEtcd checks the members while the upgrade has still to stop one of them. The
// upgrade of a worker stops none.
func (c *checker) checkEtcd() {
	if !c.controlPlaneMoves() {
		return
	}
	c.checkExternal()
	members, away := c.etcdMembers(), c.away()
	var voters, healthy int
	for _, name := range slices.Sorted(maps.Keys(members)) {
		m := members[name]
		switch {
		case m.Learner:
			c.onMember(name, "etcd-member", fmt.Sprintf("Member %s of etcd is still a learner.", name), "")
		case m.Healthy, away[name]: // kubeadm names a member like its node
			voters, healthy = voters+1, healthy+1
		default:
			voters++
			c.onMember(name, "etcd-member", fmt.Sprintf("Member %s of etcd is not healthy%s.", name, because(m.Problem)), "")
		}
		c.checkEtcdVersion(name, m.Version)
	}
	c.checkQuorum(voters, healthy)
	c.checkSnapshotSkipped(members)
}

// checkSnapshotSkipped finds an upgrade that brings another minor of etcd, and takes no snapshot before.
func (c *checker) checkSnapshotSkipped(members map[string]v1alpha1.EtcdMember) {
	if c.strategy.EtcdSnapshotPolicy != v1alpha1.EtcdSnapshotSkip || c.etcdIsExternal() || !slices.ContainsFunc(c.controlPlanes(), c.runsKubeadm) {
		return
	}
	brings := broughtEtcd(c.to)
	var former []string
	for _, m := range members {
		if v, err := etcdVersion(m.Version); err == nil && v.Less(brings) {
			former = append(former, m.Version)
		}
	}
	if former != nil {
		c.add(v1alpha1.Finding{ID: "etcd-no-snapshot", Message: fmt.Sprintf(
			"Members of etcd run %s, kubeadm of %s brings %d.%d, and strategy.etcdSnapshotPolicy is Skip: once all members run the new minor, the former one refuses their data, and there is no snapshot to go back to.",
			names(former), c.to.Line(), brings.Major, brings.Minor)})
	}
}

// checkExternal finds an upgrade that needs a snapshot although no member of etcd runs on
// a control-plane node, according to pods and agents.
func (c *checker) checkExternal() {
	skip := c.strategy.EtcdSnapshotPolicy == v1alpha1.EtcdSnapshotSkip
	stacked := slices.ContainsFunc(c.static, func(p staticPod) bool { return p.component == etcdServer })
	local := slices.ContainsFunc(c.controlPlanes(), func(n *node) bool { return n.facts == nil || n.facts.Etcd != nil })
	waits := slices.ContainsFunc(c.controlPlanes(), c.runsKubeadm)
	if waits && !skip && !stacked && !local && c.Upgrade.Status.EtcdSnapshot == nil {
		c.add(v1alpha1.Finding{ID: "etcd-external", Message: "etcd does not run on the control-plane nodes: no snapshot of it can be taken there, and strategy.etcdSnapshotPolicy requires one before kubeadm runs."})
	}
}

// etcdIsExternal reports whether etcd is another one than kubeadm's, which kubeadm does not upgrade. It may have its members on
// the control-plane nodes all the same.
func (c *checker) etcdIsExternal() bool {
	return c.KubeadmConfig != nil && c.KubeadmConfig.ClusterConfiguration.Etcd.External != nil
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
		case n.facts == nil, n.isAway():
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

// checkQuorum checks that one more member may be down. The renewal of certificates stops none: it waits only where one
// is missing already.
func (c *checker) checkQuorum(voters, healthy int) {
	if c.renews && healthy == voters {
		return
	}
	majority := clusterstate.Majority(voters)
	switch {
	case voters == 0:
	case voters == 1:
		c.add(v1alpha1.Finding{ID: "etcd-single", Message: "etcd has a single member, so the API is unavailable while its node is upgraded."})
	case voters > 1 && healthy-1 < majority:
		c.add(v1alpha1.Finding{
			ID:      rules.EtcdQuorum,
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

// The minors of Kubernetes from which on the version of etcd matters.
//
//   - kubeadm 1.34 brings etcd 3.6.5, and kubeadm 1.37 etcd 3.7.0 (SupportedEtcdVersion in
//     cmd/kubeadm/app/constants/constants.go). Members before 3.5.26 may come
//     back as "zombies" in 3.6: https://etcd.io/blog/2025/zombie_members_upgrade/
//   - kubeadm 1.36 maps no minor to an etcd before 3.6
//     (https://github.com/kubernetes/kubernetes/pull/135701).
const (
	minorWithEtcd36    = 34
	minorWithEtcd37    = 37
	minorWithoutEtcd35 = 36
)

var (
	etcdBefore36 = version.Version{Major: 3, Minor: 5, Patch: 26}
	etcd36       = version.Version{Major: 3, Minor: 6}
	etcd37       = version.Version{Major: 3, Minor: 7}
)

// broughtEtcd returns the first version of the minor of etcd that kubeadm brings, as far as it is
// known here, and the zero version before 1.34.
func broughtEtcd(to version.Version) version.Version {
	switch {
	case to.Minor >= minorWithEtcd37:
		return etcd37
	case to.Minor >= minorWithEtcd36:
		return etcd36
	default:
		return version.Version{}
	}
}

func (c *checker) checkEtcdVersion(member, runs string) {
	v, err := etcdVersion(runs)
	if !c.kubeadm || c.etcdIsExternal() || err != nil {
		return
	}
	switch {
	case c.to.Minor >= minorWithoutEtcd35 && v.Less(etcd36):
		c.onMember(member, "etcd-version",
			fmt.Sprintf("Member %s of etcd runs %s, and kubeadm of %s does not support etcd before 3.6.", member, runs, c.to.Line()),
			"Let kubeadm of the minor that runs now bring etcd 3.6: remove etcd.local.imageTag from ClusterConfiguration (kubectl -n kube-system edit configmap kubeadm-config), and upgrade to its newest patch.")
	case c.to.Minor >= minorWithEtcd36 && v.Less(etcdBefore36):
		c.onMember(member, "etcd-version",
			fmt.Sprintf("Member %s of etcd runs %s, and %s brings 3.6, to which only 3.5.26 and later may be upgraded safely.", member, runs, c.to),
			"Bring etcd to 3.5.26 first: set etcd.local.imageTag to 3.5.26-0 in ClusterConfiguration (kubectl -n kube-system edit configmap kubeadm-config), upgrade to a patch of the minor that runs now, and remove the tag again. If no member was ever replaced, this check can be ignored: https://etcd.io/blog/2025/zombie_members_upgrade/")
	}
}

// older reports whether a is known, and b is newer or not known.
func older(a, b string) bool {
	left, err := etcdVersion(a)
	if err != nil {
		return false
	}
	right, err := etcdVersion(b)
	return err != nil || left.Less(right)
}

// etcdVersion parses 3.6.5, and the tag of an image such as 3.6.5-0.
func etcdVersion(s string) (version.Version, error) {
	s, _, _ = strings.Cut(s, "-")
	return version.Parse(s)
}
