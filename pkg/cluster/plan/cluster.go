package plan

import (
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// cluster is the cluster as it was read, and the target upgrade. It is immutable once
// built, but that its windows remember what they were asked: filters read it, the allocation
// keeps its counts and turns apart, and a prediction builds a new one for each instant.
//
// Its own now, nodes, slots, apiServers and etcd replace those of the reading, which a
// prediction leaves as they are.
type cluster struct {
	reading *reading
	now     time.Time
	target  *target // nil: there is no upgrade
	nodes   []*node // in upgrade order
	groups  []*group
	total   int // number of nodes that the target concerns
	budget  int // how many may be out of service at once
	slots   []clusterstate.Slot
	// apiServers and etcd are the pods of the snapshot, which a prediction changes as
	// nodes return. etcd has no pods on workers.
	apiServers, etcd []clusterstate.StaticPod
	begun            bool                   // by the upgrade's status; see begin.go
	startTime        *metav1.Time           // as the upgrade's status is to say
	etcdSnapshot     *v1alpha1.EtcdSnapshot // the same
	snapshotTaken    bool                   // etcd has a snapshot for the target, or needs none
	held             clusterstate.Hold      // the hold of people on the whole upgrade
	gates            []v1alpha1.Gate
	turns            turns // as they were read
	webhooks         webhooks
	checks           checks
	windows          *rules.Windows
	durations        durations
	measured         measurements // of the durations
	// brief makes filters return only a reason where the message is expensive to
	// compute.
	brief bool
}

// newCluster builds the cluster for the target that the queue plans nodes for.
func newCluster(r *reading, q queue) *cluster {
	t := q.planned
	c := &cluster{
		reading: r, now: r.now, target: t, turns: newTurns(r, t), gates: r.policySpec().Gates,
		slots: r.snapshot.Slots, apiServers: r.snapshot.APIServers, etcd: r.onControlPlanes(r.snapshot.Etcd), snapshotTaken: true,
	}
	upgrade := &v1alpha1.ClusterUpgrade{}
	strategy := upgrade.Resolve(r.policySpec().Strategy)
	if t != nil {
		upgrade, strategy = t.ClusterUpgrade, t.strategy
	}
	c.groups = newGroups(strategy)
	c.windows = rules.NewWindows(upgrade, r.snapshot.Schedules)
	c.placeNodes(strategy, q.leftBehind)
	c.measured = measurements{measure(c.nodes), recordedSamples(r.snapshot.Records, r.snapshot.Nodes)}
	c.durations = newDurations(c.measured.own, c.measured.before)
	// More slots than nodes are of no use.
	c.budget = min(scaled(strategy.MaxUnavailable, c.total), max(1, c.total))
	if t != nil {
		c.held = t.peopleHold(c.now)
		c.startTime = t.startTime(c.nodes, c.now)
		c.begun = t.forLateNodes || c.startTime != nil
		c.etcdSnapshot, c.snapshotTaken = c.findEtcdSnapshot()
	}
	c.webhooks = c.readWebhooks()
	c.checks = c.readChecks()
	return c
}

// placeNodes copies the reading's nodes, sets each one's state and group, and sorts them into upgrade order.
func (c *cluster) placeNodes(strategy v1alpha1.Strategy, leftBehind map[string]bool) {
	sizes, copies := make([]int, len(c.groups)), make([]node, len(c.reading.nodes))
	for i, read := range c.reading.nodes {
		n := &copies[i]
		*n = *read
		c.nodes = append(c.nodes, n)
		n.nodeState, n.leftBehind = c.target.stateOf(n), leftBehind[n.Name]
		if !n.ControlPlane {
			n.group = slices.IndexFunc(c.groups, func(g *group) bool { return g.selector.Matches(labels.Set(n.Labels)) })
		}
		if n.concerned {
			sizes[n.group]++
			c.total++
		}
		if c.target != nil && n.concerned && !n.upToDate {
			n.class = c.windows.ClassOf(n.Labels, c.target.typeFor(n))
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

// ControlPlaneGroup is the group of the nodes that go first.
const ControlPlaneGroup = "control-plane"

// group is a set of nodes with a limit and a pace of its own.
type group struct {
	name        string
	pace        v1alpha1.Pace
	approval    v1alpha1.Approval
	ignoreGates []string // the gates that its nodes do not wait for
	selector    labels.Selector
	limit       int // 0: only the whole budget counts
}

// newGroups returns the control plane, the strategy's groups, and a group of all other
// nodes. An invalid selector matches nothing: its nodes are in the last group.
func newGroups(strategy v1alpha1.Strategy) []*group {
	list := []*group{{name: ControlPlaneGroup, pace: strategy.Pace, selector: labels.Nothing(), limit: 1}}
	for _, g := range strategy.Groups {
		selector, err := g.NodeSelector.AsSelector()
		if err != nil {
			selector = labels.Nothing()
		}
		list = append(list, &group{name: g.Name, pace: g.Pace.Or(strategy.Pace), approval: g.Approval, ignoreGates: g.IgnoreGates, selector: selector})
	}
	return append(list, &group{name: "", pace: strategy.Pace, selector: labels.Everything()})
}

// scaled returns how many of n nodes a number or percentage allows: rounded down, at
// least one. An invalid limit allows one.
func scaled(limit *intstr.IntOrString, n int) int {
	allowed, err := intstr.GetScaledValueFromIntOrPercent(limit, n, false)
	if err != nil || limit.Type == intstr.String && allowed > n {
		return 1
	}
	return max(1, allowed)
}

// zoneLabel names the zone of a node. Kubernetes documents it among the well-known
// labels: https://kubernetes.io/docs/reference/labels-annotations-taints/.
const zoneLabel = "topology.kubernetes.io/zone"

// sort puts the nodes into upgrade order: by group, and within a group one from each
// zone in turn, by name. So nodes that are down at the same time are in different zones
// where possible. The order does not change while nodes are upgraded.
func (c *cluster) sort() {
	slices.SortFunc(c.nodes, func(a, b *node) int { return strings.Compare(a.Name, b.Name) })
	zones := make([]map[string][]*node, len(c.groups))
	for _, n := range c.nodes {
		if zones[n.group] == nil {
			zones[n.group] = map[string][]*node{}
		}
		zone := n.Labels[zoneLabel]
		zones[n.group][zone] = append(zones[n.group][zone], n)
	}
	c.nodes = c.nodes[:0]
	for _, group := range zones {
		c.nodes = append(c.nodes, roundRobin(group)...)
	}
}

// roundRobin returns the nodes, one from each zone in turn.
func roundRobin(zones map[string][]*node) []*node {
	names := slices.Sorted(maps.Keys(zones))
	var list []*node
	for round, more := 0, true; more; round++ {
		more = false
		for _, name := range names {
			if round < len(zones[name]) {
				list, more = append(list, zones[name][round]), true
			}
		}
	}
	return list
}
