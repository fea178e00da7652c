package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// allocation hands out what nodes share: the budget, each group's limit, the slots, and
// the last ready backends of webhooks. It runs after all filters and is the only place
// where these are spent.
type allocation struct {
	cluster     *cluster
	survey      *survey
	wake        *wakeTime
	turns       turns    // its own, which it changes (allocation_turns.go)
	out         int      // nodes that are out of service or released
	elsewhere   []string // of these, nodes that are not managed and that kured reboots
	inGroup     []int    // the same, by group
	cordoned    []*node  // nodes that count only because others have cordoned them
	absentCount int      // of these, NotReady although no upgrade took them out of service
	failedCount int      // of these, failed
	lostCount   int      // of these, not coming back
	backed      []int    // by webhook: nodes in service that have a ready backend
	spare       []string // names of free slots, highest first
	ordered     []string // of these, those that orderedSlot returns for a node
	taken       string   // the slot of the node that was released last
	missing     bool     // a node waits only for a preflight report
	nextCount   int      // nodes that wait only for room in the budget, and go next
}

// claim takes one shared thing for a node, or holds the node.
type claim struct {
	question
	hold func(*allocation, *node) clusterstate.Hold
}

// claims run after all filters. A preflight report is required only once there is room,
// so that preflight sees the cluster as it is when the node begins. The slot is taken
// last, because nothing may hold the node after that.
var claims = []claim{
	{hold: (*allocation).lastBackend, question: newQuestion("does each webhook keep a backend?", v1alpha1.ReasonWebhookBackend)},
	{hold: (*allocation).budgetSpent, question: newQuestion("is there room in the budget?",
		v1alpha1.ReasonOtherRebootManager, v1alpha1.ReasonNodeCordoned, v1alpha1.ReasonNodeNotReady, v1alpha1.ReasonNodeNotBack, v1alpha1.ReasonNotReadyAfterUpgrade,
		v1alpha1.ReasonNodeFailed, v1alpha1.ReasonAPIWriteFailed, v1alpha1.ReasonNotItsTurn)},
	{hold: (*allocation).notChecked, question: newQuestion("were the checks made?", v1alpha1.ReasonPreflight)},
	{hold: (*allocation).takeSlot, question: newQuestion("is a slot free?", v1alpha1.ReasonNoSlot)},
}

// newAllocation counts the nodes that are out of service already. It takes a copy of the turns.
func newAllocation(s *survey, before turns, wake *wakeTime) *allocation {
	c := s.cluster
	a := &allocation{cluster: c, survey: s, wake: wake, turns: before.copied(),
		inGroup: make([]int, len(c.groups)), backed: c.webhooks.backed(), spare: c.spareSlots(), ordered: c.orderedSlots()}
	a.elsewhere = c.rebootedByOthers()
	a.out += len(a.elsewhere)
	for _, n := range s.outOfService {
		a.spend(n)
		switch {
		case n.failed():
			a.failedCount++
		case c.isLost(n) || c.relapsed(n):
			a.lostCount++
		case !n.Ready && !n.busy():
			a.absentCount++
		}
	}
	a.countCordoned()
	a.spendTurns()
	return a
}

// countCordoned counts the nodes in service that others have cordoned, if the strategy says so. Their pods go on to run: they
// are backends of webhooks as before.
func (a *allocation) countCordoned() {
	if t := a.cluster.target; t == nil || t.strategy.CordonedNodes != v1alpha1.CordonedCount {
		return
	}
	for _, n := range a.cluster.nodes {
		if n.concerned && n.Cordoned && !slices.Contains(a.survey.outOfService, n) {
			a.cordoned = append(a.cordoned, n)
			a.count(n)
		}
	}
}

// spendTurns counts the nodes in service whose hooks have not ended, but for candidates, which count
// when their verdict is made.
func (a *allocation) spendTurns() {
	for _, t := range a.turns.list {
		if t.Node == "" || !isOpen(t) {
			continue
		}
		switch n := a.cluster.nodeOf(t); {
		case n == nil:
			a.out++
		case !n.open && !slices.Contains(a.survey.outOfService, n):
			a.spend(n)
		}
	}
}

// full reports whether the budget is used up.
func (a *allocation) full() bool { return a.out >= a.cluster.budget }

// count counts a node in the budget and its group's limit.
func (a *allocation) count(n *node) {
	a.out++
	a.inGroup[n.group]++
}

// spend counts a node that is out of service or released, unless it counts already because of its cordon.
func (a *allocation) spend(n *node) {
	if i := slices.Index(a.cordoned, n); i >= 0 {
		a.cordoned = slices.Delete(a.cordoned, i, i+1)
	} else {
		a.count(n)
	}
	for _, i := range a.cluster.webhooks.of[n.Name] {
		a.backed[i]--
	}
}

// admit returns the slot to reserve for the node, or the hold that keeps it from
// beginning.
func (a *allocation) admit(n *node) (slot string, hold clusterstate.Hold) {
	if hold := a.survey.firstHold(n, false, a.wake); hold.Holds() {
		return "", hold
	}
	return a.claim(n)
}

// claim takes everything shared for a node that no filter holds. It returns its slot, or the
// hold that keeps it from beginning.
func (a *allocation) claim(n *node) (slot string, hold clusterstate.Hold) {
	for i := range claims {
		if hold := claims[i].hold(a, n); hold.Holds() {
			return "", hold
		}
	}
	a.spend(n)
	return a.taken, clusterstate.Hold{}
}

// budgetSpent holds a node while the budget, or the limit of its group, is used up. The
// message names a node that needs attention if there would be room without such nodes, or
// if it is in the same group. The renewal of certificates needs no budget, but one control plane waits for the
// hooks around another.
func (a *allocation) budgetSpent(n *node) clusterstate.Hold {
	if a.cluster.target.certificates {
		return a.hooksAroundAnother(n) // no node goes out of service
	}
	limit := a.cluster.budget
	if own := a.cluster.groups[n.group].limit; own > 0 {
		limit = min(limit, own)
	}
	cordoned, inGroup := a.countedCordons(n)
	if slices.Contains(a.cordoned, n) && a.out-cordoned < a.cluster.budget && a.inGroup[n.group]-inGroup < limit {
		return clusterstate.Hold{} // it counts already, as do the others that are cordoned
	}
	if !a.full() && a.inGroup[n.group] < limit {
		return clusterstate.Hold{}
	}
	if len(a.elsewhere) > 0 && a.out-len(a.elsewhere) < a.cluster.budget && a.inGroup[n.group] < limit {
		message := fmt.Sprintf("kured holds its lock for node %s, which is not managed and counts as out of service (at most %d at once)",
			strings.Join(a.elsewhere, ", "), a.cluster.budget)
		return clusterstate.Hold{Reason: v1alpha1.ReasonOtherRebootManager, Message: message, Stays: a.cluster.lockOverdue()}
	}
	if absent := a.survey.absent; absent != nil && (a.out-a.absentCount < a.cluster.budget || absent.group == n.group) {
		hold := notReady(a.cluster, absent)
		hold.Message = fmt.Sprintf("node %s is not Ready and uses the budget up", absent.Name)
		if hold.Stays {
			hold.Message = fmt.Sprintf("node %s uses the budget up: %s", absent.Name, notReady(a.cluster, absent).Message)
		}
		hold.Stays = hold.Stays && a.out == a.absentCount
		return hold
	}
	if lost := a.survey.firstLost; lost != nil && (a.out-a.lostCount < a.cluster.budget || lost.group == n.group) {
		return lost.lostHold()
	}
	if failed := a.survey.firstFailed; failed != nil && (a.out-a.failedCount < a.cluster.budget || failed.group == n.group) {
		message := fmt.Sprintf("node %s failed and uses the budget up", failed.Name)
		return clusterstate.Hold{Reason: v1alpha1.ReasonNodeFailed, Message: message, Stays: a.out == a.failedCount}
	}
	if troubled := cordoned + len(a.elsewhere) + a.absentCount + a.lostCount + a.failedCount; cordoned > 0 && a.out-troubled < a.cluster.budget && a.inGroup[n.group]-inGroup < limit {
		return a.cordonedHold(limit)
	}
	return a.survey.orWriteFailure(clusterstate.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: fmt.Sprintf("other nodes go first (at most %d at once)", limit)})
}

// countedCordons returns how many nodes count only because of their cordon, and how many of these are in the node's group.
func (a *allocation) countedCordons(n *node) (all, inGroup int) {
	for _, other := range a.cordoned {
		if other.group == n.group {
			inGroup++
		}
	}
	return len(a.cordoned), inGroup
}

// cordonedHold returns the hold of a node for which there would be room if nothing were cordoned.
func (a *allocation) cordonedHold(limit int) clusterstate.Hold {
	cordoned := "node " + a.cordoned[0].Name + " is cordoned by another client and counts"
	if others := len(a.cordoned); others > 1 {
		cordoned = fmt.Sprintf("%d nodes are cordoned by another client (%s first) and count", others, a.cordoned[0].Name)
	}
	message := fmt.Sprintf("%s as out of service (at most %d at once, strategy.cordonedNodes)", cordoned, limit)
	return clusterstate.Hold{Reason: v1alpha1.ReasonNodeCordoned, Message: message}
}

// takeSlot takes a slot for the node: the reserved one, the one that its order names, or a free one. Nodes that
// go one at a time use only clusterstate.ControlPlaneSlot. An order that named another slot than the one that is reserved
// would have its node take both.
func (a *allocation) takeSlot(n *node) clusterstate.Hold {
	mayTake := func(name string) bool { return !n.oneAtATime() || name == clusterstate.ControlPlaneSlot }
	if n.reserved() && mayTake(n.lease.Name) {
		a.taken = n.lease.Name
		return clusterstate.Hold{}
	}
	i := slices.Index(a.spare, n.orderedSlot())
	if i < 0 || !mayTake(a.spare[i]) {
		i = slices.IndexFunc(a.spare, func(name string) bool { return mayTake(name) && !slices.Contains(a.ordered, name) })
	}
	if i >= 0 {
		a.taken = a.spare[i]
		a.spare = slices.Delete(a.spare, i, i+1)
		return clusterstate.Hold{}
	}
	message := "no slot is free"
	for _, slot := range a.cluster.slots {
		if slot.Unreadable {
			message += ": " + unreadable(slot)
			break
		}
		if gone := a.cluster.goneHolder(slot); gone != "" {
			message += ": " + gone
			break
		}
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonNoSlot, Message: message}
}

// orderedSlots returns the slots that orderedSlot returns for the nodes.
func (c *cluster) orderedSlots() []string {
	var ordered []string
	for _, n := range c.nodes {
		if slot := n.orderedSlot(); slot != "" {
			ordered = append(ordered, slot)
		}
	}
	return ordered
}

// spareSlots returns the free slots within the budget, highest first, so that workers
// take slot 0, the control plane's, last.
func (c *cluster) spareSlots() []string {
	var indices []int
	for _, slot := range c.slots {
		if i, ok := clusterstate.SlotIndex(slot.Name); ok && i < c.budget && slot.Free() {
			indices = append(indices, i)
		}
	}
	slices.SortFunc(indices, func(a, b int) int { return b - a })
	names := make([]string, len(indices))
	for i, index := range indices {
		names[i] = clusterstate.SlotName(index)
	}
	return names
}
