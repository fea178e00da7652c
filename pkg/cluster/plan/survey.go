package plan

// survey summarizes all nodes of the cluster, before any node is released.
type survey struct {
	cluster          *cluster
	begun            bool    // a node has begun this upgrade, or is about to
	tookSlot         bool    // a node has taken a slot in this upgrade
	componentsLeft   bool    // control planes are not all at the version yet
	pass1            bool    // the same, where kubeadm brings all of them to it before any kubelet
	oldAPIServer     string  // a node whose apiserver is not at the version yet
	failed           *node   // the first that failed, if that stops the others
	firstFailed      *node   // the first that failed, even if others may continue
	lost             *node   // the first that does not come back, relapsed or has no order, if that stops the others
	firstLost        *node   // the first that does not come back, relapsed or has no order, even if others may continue
	writeFailed      *node   // the first that is being upgraded and cannot write to the API server
	aborting         *node   // the first that failed in another upgrade, and aborts that attempt
	former           *node   // the first that is at work for an upgrade that is not active any more
	retrying         *node   // the first that waits for its retry
	unprepared       *node   // the first that is in service and not prepared
	stageError       *node   // the first whose staging or pull does not succeed
	absent           *node   // the first that is NotReady although no upgrade took it out of service
	busyControlPlane *node   // the first control-plane node that is being upgraded
	first            *node   // runs kubeadm upgrade apply; nil when that is over
	snapshotNode     *node   // takes the snapshot of etcd; nil when none is to be taken
	outOfService     []*node // busy, or NotReady for another cause
	ahead            []*node // by group: the first node that later groups wait for
}

// newSurvey surveys the nodes in upgrade order.
func newSurvey(c *cluster) *survey {
	s := &survey{cluster: c, begun: c.begun, tookSlot: c.begun, ahead: make([]*node, len(c.groups))}
	failures := 0
	for _, n := range c.nodes {
		busy := n.busy()
		if busy && n.abandoned == nil && !n.noAgent() || n.concerned && !n.Ready {
			s.outOfService = append(s.outOfService, n)
		}
		if n.withoutOrder() {
			s.noteLost(n)
		}
		if !n.concerned {
			continue
		}
		if busy {
			s.noteBusy(n)
		} else {
			s.noteInService(n)
		}
		if !n.ControlPlane && (n.failed() && !c.abortsAttempt(n) || c.isLost(n) || c.relapsed(n)) {
			failures++
		}
		s.begun = s.begun || c.target.ordered(n)
		s.tookSlot = s.tookSlot || c.target.beganOn(n)
		s.componentsLeft = s.componentsLeft || n.ControlPlane && !n.kubeadmDone && !c.target.passes(n)
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
	s.componentsLeft = s.componentsLeft || s.oldAPIServer != ""
	s.pass1 = s.componentsLeft && (c.target == nil || !c.target.clusterAPIDecides)
	s.first = c.firstControlPlane()
	s.snapshotNode = s.chooseEtcdSnapshotNode()
	return s
}

// noteBusy adds a busy node to the survey.
func (s *survey) noteBusy(n *node) {
	if s.writeFailed == nil && n.writeFailed() {
		s.writeFailed = n
	}
	if s.cluster.isLost(n) {
		s.noteLost(n)
	}
	if s.former == nil && !n.failed() && n.spec.Upgrade != nil && !s.cluster.specIsForTarget(n) {
		s.former = n
	}
	switch {
	case !n.failed():
		if n.ControlPlane && s.busyControlPlane == nil {
			s.busyControlPlane = n
		}
	case s.cluster.abortsAttempt(n):
		if s.aborting == nil {
			s.aborting = n
		}
	default:
		if s.firstFailed == nil || s.firstFailed.isAtFault() && !n.isAtFault() {
			s.firstFailed = n // what says something about the version goes first
		}
		if n.ControlPlane {
			s.failed = n // always stops the others
		}
	}
	s.notePreparation(n)
}

func (s *survey) noteLost(n *node) {
	if s.firstLost == nil {
		s.firstLost = n
	}
	if n.ControlPlane || n.withoutOrder() {
		s.lost = n // always stops the others
	}
}

// noteInService adds a node that is not busy to the survey.
func (s *survey) noteInService(n *node) {
	if s.cluster.relapsed(n) {
		s.noteLost(n)
	} else if !n.Ready && s.absent == nil {
		s.absent = n
	}
	s.notePreparation(n)
}

// notePreparation adds whether the node has its images to the survey.
func (s *survey) notePreparation(n *node) {
	if s.retrying == nil && s.cluster.retries(n) {
		s.retrying = n
	}
	if !n.Ready || n.prepared || n.leftBehind || s.cluster.target != nil && s.cluster.target.back {
		return // a Rollback does not wait for a node whose former image is gone
	}
	if s.unprepared == nil {
		s.unprepared = n
	}
	if s.stageError == nil && (n.cannotStage() || n.agentHold(s.cluster.now).Stays) {
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
		return !n.onHold && !c.target.requestHold(n, c.now).Holds() && !c.target.passes(n)
	}
	for i := range filters {
		if filters[i].groupsSkip && filters[i].node(c, n).Holds() {
			return false
		}
	}
	return !c.webhooks.onlyOn(n)
}
