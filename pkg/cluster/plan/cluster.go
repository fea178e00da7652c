package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// cluster is the cluster as it was read, and the target upgrade. It is immutable once
// built: filters read it, the allocation keeps its counts apart, and a prediction builds
// a new one for each instant.
//
// Its own now, nodes, slots, apiServers and etcd replace those of the reading, which a
// prediction leaves as they are.
type cluster struct {
	*reading
	now    time.Time
	target *target // nil: there is no upgrade
	nodes  []*node // in upgrade order
	groups []*group
	total  int // number of nodes that the target concerns
	budget int // how many may be out of service at once
	slots  []fleet.Slot
	// apiServers and etcd are the pods of the snapshot, which a prediction changes as
	// nodes return. etcd has no pods on workers.
	apiServers, etcd []fleet.StaticPod
	snapshotTaken    bool // etcd has a snapshot for the target, or needs none
	webhooks         webhooks
	checks           checks
	windows          *windows
	durations        *durations
	// brief makes filters return only a reason where the message is expensive to
	// compute.
	brief bool
	survey
}

// newCluster builds the cluster for a target.
func newCluster(r *reading, t *target) *cluster {
	c := &cluster{
		reading: r, now: r.now, target: t, nodes: slices.Clone(r.nodes),
		slots: r.Slots, apiServers: r.APIServers, etcd: r.notOnWorkers(r.Etcd), durations: &durations{},
	}
	upgrade := &v1alpha1.ClusterUpgrade{}
	strategy := upgrade.Resolve(r.policySpec().Strategy)
	if t != nil {
		upgrade, strategy = t.ClusterUpgrade, t.strategy
	}
	c.groups = newGroups(strategy)
	c.windows = newWindows(upgrade, r.Schedules)
	c.placeNodes(strategy)
	// More slots than nodes are of no use.
	c.budget = min(scaled(strategy.MaxUnavailable, c.total), max(1, c.total))
	c.snapshotTaken = c.adoptEtcdSnapshot()
	c.webhooks = c.readWebhooks()
	c.checks = c.readChecks()
	c.survey = c.newSurvey()
	return c
}

// placeNodes sets each node's state and group, and sorts the nodes into upgrade order.
func (c *cluster) placeNodes(strategy v1alpha1.Strategy) {
	sizes := make([]int, len(c.groups))
	for _, n := range c.nodes {
		n.nodeState = c.target.stateOf(n)
		if !n.ControlPlane {
			n.group = slices.IndexFunc(c.groups, func(g *group) bool { return g.selector.Matches(labels.Set(n.Labels)) })
		}
		if n.concerned {
			sizes[n.group]++
			c.total++
		}
		if c.target != nil && n.concerned && !n.upToDate {
			n.class = c.windows.classOf(n.Labels, c.target.typeFor(n))
		}
	}
	for i, g := range strategy.Groups {
		if g.MaxUnavailable != nil {
			c.groups[i+1].limit = scaled(g.MaxUnavailable, sizes[i+1])
		}
	}
	c.sort()
	for i, n := range c.nodes {
		n.place = i
	}
}

// controlPlanes returns the control-plane nodes, which come first in c.nodes.
func (c *cluster) controlPlanes() []*node {
	i := slices.IndexFunc(c.nodes, func(n *node) bool { return !n.ControlPlane })
	if i < 0 {
		return c.nodes
	}
	return c.nodes[:i]
}

// specIsForTarget reports whether the node's NodeUpgrade.spec is for the target.
func (c *cluster) specIsForTarget(n *node) bool { return c.target.isFor(n.spec.Upgrade) }

// abortsAttempt reports whether the node failed in another upgrade than the target. Its
// agent brings it back into service; then it is upgraded like any other.
func (c *cluster) abortsAttempt(n *node) bool {
	return n.failed() && c.target != nil && n.status.Upgrade != nil && !c.target.isFor(n.status.Upgrade)
}
