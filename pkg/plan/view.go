package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// view is what all nodes together look like before anyone is let go, and the
// budget as it is being spent.
type view struct {
	begun      bool     // somebody has begun with this upgrade
	failed     *node    // the first that failed
	leaving    *node    // the first that failed in another upgrade, and gives way
	retrying   *node    // the first that tries again later
	unprepared *node    // the first that is in service and not prepared
	stageError *node    // the first whose staging or pull does not succeed
	oldServer  string   // an apiserver's node that is not at the version yet
	absent     *node    // the first that is NotReady by itself
	down       int      // nodes down, promised or released
	absentees  int      // of them, NotReady by themselves
	spare      []string // slots that are free, highest first
	pass1      bool     // control planes still have to be taken to the version
	busy       int      // nodes that are out of service by our doing
	applier    *node    // runs kubeadm upgrade apply; nil when that is over
	moving     *node    // the first control-plane node that is at work
	saver      *node    // takes the snapshot of etcd; nil when there is none to take
}

// look fills the view from the nodes in their order.
func (d *decider) look() {
	d.checks.allAnswer()
	for _, n := range d.nodes {
		if n.busy() && !n.unsupported() && !n.abandoned() || n.counts() && !n.Ready {
			d.takeOut(n)
		}
		if !n.counts() {
			continue
		}
		d.notice(n)
		if g := d.groups[n.group]; g.blocked == nil && n.blocksNext(d) {
			g.blocked = n
		}
	}
	d.oldServer = d.findOldServer()
	d.pass1 = d.pass1 || d.oldServer != ""
	d.begun = d.begun || d.converging
	d.spare = spareSlots(d.Slots, d.budget)
}

// findOldServer is a node whose apiserver is not at the version yet, or whose
// apiserver is not to be seen: its pod is away for a moment while kubeadm
// replaces it. That of a node that was given up does not count: the pod of a
// machine that is off stays as it was.
func (d *decider) findOldServer() string {
	if d.isReboot() {
		return ""
	}
	abandoned := map[string]bool{}
	for _, n := range d.nodes {
		if n.abandoned() {
			abandoned[n.Name] = true
		}
	}
	seen := map[string]bool{}
	for _, pod := range d.APIServers {
		if !abandoned[pod.Node] && !atLeast(parsed(pod.Version), d.to) {
			return pod.Node
		}
		seen[pod.Node] = true
	}
	for _, n := range d.nodes {
		if n.ControlPlane && !n.abandoned() && !seen[n.Name] {
			return n.Name
		}
	}
	return ""
}

// spareSlots are the free slots within the budget, highest first: the first one
// is left to control-plane nodes as long as there is another.
func spareSlots(slots []fleet.Slot, budget int) []string {
	var indices []int
	for _, slot := range slots {
		if i, ok := fleet.SlotIndex(slot.Name); ok && i < budget && slot.Free() {
			indices = append(indices, i)
		}
	}
	slices.SortFunc(indices, func(a, b int) int { return b - a })
	var names []string
	for _, i := range indices {
		names = append(names, fleet.SlotName(i))
	}
	return names
}

// notice remembers the first node of each kind.
func (d *decider) notice(n *node) {
	first := func(at **node, is bool) {
		if is && *at == nil {
			*at = n
		}
	}
	prepared := n.preparedAt(d.to)
	first(&d.failed, n.failed() && !d.givesWay(n))
	first(&d.leaving, d.givesWay(n))
	first(&d.retrying, d.retries(n))
	first(&d.unprepared, n.Ready && !prepared)
	first(&d.stageError, n.Ready && !prepared && n.cannotStage())
	first(&d.moving, n.ControlPlane && n.busy() && !n.failed())
	first(&d.absent, !n.Ready && !n.busy())
	if !n.Ready && !n.busy() {
		d.absentees++
	}
	if n.busy() {
		d.busy++
	}
	d.begun = d.begun || n.busy() || n.promised() || n.ControlPlane && n.kubeadmAt(d.to)
	d.pass1 = d.pass1 || n.ControlPlane && !n.kubeadmAt(d.to)
}

// takeOut spends the budget for n.
func (d *decider) takeOut(n *node) {
	d.down++
	d.groups[n.group].down++
	for _, w := range d.checks.webhooks[n.Name] {
		w.left--
	}
}

// retries is whether n gave up and tries again later by itself.
func (d *decider) retries(n *node) bool {
	return n.retryAt != nil && n.retryAt.After(d.now) && n.stagedAt(d.to)
}

// blocksNext is whether the next groups wait for n: not for one that is done,
// and not for a worker that cannot go, since it might never.
func (n *node) blocksNext(d *decider) bool {
	if n.busy() || n.ControlPlane {
		return n.busy() || !n.asWanted(d.to)
	}
	return n.Ready && !n.asWanted(d.to) && HoldGate(n.Labels).Reason == "" && n.step(d.to) == nil && d.checks.own[n.Name] == nil && !d.lastBackend(n)
}

// step is whether Kubernetes allows this node's step. Its kubelet may follow
// the apiservers from one minor to the next only.
func (n *node) step(to version.Version) error {
	if n.reboot {
		return n.rebootStep()
	}
	if n.runs.trouble != nil {
		return n.runs.trouble
	}
	return version.CheckStep(n.runs.kubelet, to)
}

// etcdHold is why etcd does not allow a control-plane node to go.
//
// With a member on one control-plane node, each of them has one, though its pod
// may be away for a moment.
//
// Whoever ignores the check goes with two members too, and does without the API
// meanwhile.
func (d *decider) etcdHold(n *node) fleet.Hold {
	if d.target != nil && d.target.Spec.Ignores(preflight.EtcdQuorum) {
		return fleet.Hold{}
	}
	members := 0
	for _, other := range d.nodes {
		if other.ControlPlane && !other.abandoned() {
			members++
		}
	}
	return EtcdGate(d.Etcd, members, n.Name)
}

// EtcdGate says whether etcd allows the node to be away: with it, fewer members
// than a majority would be left. members is how many there are to be, if that is
// more than were found. A single one is allowed: the API is then away as long as
// its node. The planner asks it, and the agent again with what it reads itself.
func EtcdGate(etcd []fleet.StaticPod, members int, node string) fleet.Hold {
	members = max(members, len(etcd))
	others := 0
	for _, pod := range etcd {
		if pod.Ready && pod.Node != node {
			others++
		}
	}
	majority := members/2 + 1
	if len(etcd) == 0 || members == 1 || others >= majority {
		return fleet.Hold{}
	}
	message := fmt.Sprintf("etcd has %d members and would have %d of the %d it needs while this node is away", members, others, majority)
	if members == 2 {
		message += "; add a third control-plane node"
	}
	return fleet.Hold{Reason: v1alpha1.ReasonEtcdQuorum, Message: message}
}
