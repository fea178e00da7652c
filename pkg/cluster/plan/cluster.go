package plan

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

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

// survey summarizes all nodes, before any node is released.
type survey struct {
	held             fleet.Hold // the hold of people on the whole upgrade
	begun            bool       // a node has begun this upgrade
	busy             bool       // a node that the upgrade concerns is busy
	pass1            bool       // control planes are not all at the version yet
	oldAPIServer     string     // a node whose apiserver is not at the version yet
	failed           *node      // the first that failed, if that stops the others
	firstFailed      *node      // the first that failed, even if others may continue
	lost             *node      // the first that does not come back or relapsed, if that stops the others
	firstLost        *node      // the first that does not come back or relapsed, even if others may continue
	writeFailed      *node      // the first that is being upgraded and cannot write to the API server
	aborting         *node      // the first that failed in another upgrade, and aborts that attempt
	retrying         *node      // the first that waits for its retry
	unprepared       *node      // the first that is in service and not prepared
	stageError       *node      // the first whose staging or pull does not succeed
	absent           *node      // the first that is NotReady although no upgrade took it out of service
	busyControlPlane *node      // the first control-plane node that is being upgraded
	first            *node      // runs kubeadm upgrade apply; nil when that is over
	snapshotNode     *node      // takes the snapshot of etcd; nil when none is to be taken
	outOfService     []*node    // busy, or NotReady for another cause
	ahead            []*node    // by group: the first node that later groups wait for
}

// newSurvey surveys the nodes in upgrade order.
func (c *cluster) newSurvey() survey {
	s := survey{ahead: make([]*node, len(c.groups))}
	failures := 0
	for _, n := range c.nodes {
		busy := n.busy()
		if busy && n.abandoned == nil && !n.noAgent() || n.concerned && !n.Ready {
			s.outOfService = append(s.outOfService, n)
		}
		if !n.concerned {
			continue
		}
		if busy {
			c.noteBusy(&s, n)
		} else {
			c.noteInService(&s, n)
		}
		if !n.ControlPlane && (n.failed() && !c.abortsAttempt(n) || c.isLost(n) || c.relapsed(n)) {
			failures++
		}
		s.begun = s.begun || busy || n.lease != nil || n.ControlPlane && n.kubeadmDone
		s.pass1 = s.pass1 || n.ControlPlane && !n.kubeadmDone
		if s.ahead[n.group] == nil && c.holdsUpGroups(n, busy) {
			s.ahead[n.group] = n
		}
	}
	if s.firstFailed != nil && (s.failed != nil || failures > c.maxFailures()) {
		s.failed = s.firstFailed
	}
	if s.firstLost != nil && (s.lost != nil || failures > c.maxFailures()) {
		s.lost = s.firstLost
	}
	s.oldAPIServer = c.findOldAPIServer()
	s.pass1 = s.pass1 || s.oldAPIServer != ""
	s.begun = s.begun || c.target != nil && c.target.forLateNodes
	if c.target != nil {
		s.held = upgradeHold(c.target.ClusterUpgrade, c.now)
	}
	s.first = c.firstControlPlane()
	s.snapshotNode = c.chooseSnapshotNode(s)
	return s
}

// noteBusy adds a busy node to the survey.
func (c *cluster) noteBusy(s *survey, n *node) {
	s.busy = true
	if s.writeFailed == nil && n.writeFailed() {
		s.writeFailed = n
	}
	if c.isLost(n) {
		s.noteLost(n)
	}
	switch {
	case !n.failed():
		if n.ControlPlane && s.busyControlPlane == nil {
			s.busyControlPlane = n
		}
	case c.abortsAttempt(n):
		if s.aborting == nil {
			s.aborting = n
		}
	default:
		if s.firstFailed == nil {
			s.firstFailed = n
		}
		if n.ControlPlane {
			s.failed = n // always stops the others
		}
	}
	c.notePreparation(s, n)
}

func (s *survey) noteLost(n *node) {
	if s.firstLost == nil {
		s.firstLost = n
	}
	if n.ControlPlane {
		s.lost = n // always stops the others
	}
}

// noteInService adds a node that is not busy to the survey.
func (c *cluster) noteInService(s *survey, n *node) {
	if relapsed := c.relapsed(n); relapsed {
		s.noteLost(n)
	} else if !n.Ready && s.absent == nil {
		s.absent = n
	}
	c.notePreparation(s, n)
}

func (c *cluster) notePreparation(s *survey, n *node) {
	if s.retrying == nil && c.retries(n) {
		s.retrying = n
	}
	if !n.Ready || n.prepared || n.leftBehind {
		return
	}
	if s.unprepared == nil {
		s.unprepared = n
	}
	if s.stageError == nil && (n.cannotStage() || n.agentHold(c.now).Stays) {
		s.stageError = n
	}
}

// maxFailures returns how many workers may fail, or not come back, before no other node begins.
func (c *cluster) maxFailures() int {
	if c.target == nil || c.target.strategy.MaxFailures == nil {
		return 0
	}
	return int(*c.target.strategy.MaxFailures)
}

// holdsUpGroups reports whether later groups wait for the node. They do not wait for
// one that is done, that is on hold, or that failed or is lost while others may
// continue; nor for a worker that may be held forever.
func (c *cluster) holdsUpGroups(n *node, busy bool) bool {
	switch {
	case c.target == nil:
		return false
	case busy:
		return n.ControlPlane || !n.failed() && !c.isLost(n)
	case n.upToDate:
		return false
	case n.ControlPlane:
		return !n.onHold
	}
	for i := range filters {
		if filters[i].groupsSkip && filters[i].hold(c, n).Holds() {
			return false
		}
	}
	return !c.webhooks.onlyOn(n)
}

// ControlPlaneGroup is the group of the nodes that go first.
const ControlPlaneGroup = "control-plane"

// group is a set of nodes with a limit and a pace of its own.
type group struct {
	name     string
	pace     v1alpha1.Pace
	approval v1alpha1.Approval
	selector labels.Selector
	limit    int // 0: only the whole budget counts
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
		list = append(list, &group{name: g.Name, pace: g.Pace.Or(strategy.Pace), approval: g.Approval, selector: selector})
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
