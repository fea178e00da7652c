package agent

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// observe returns an Observation. What cannot be read is left out. observedGeneration is
// raised only after an attempt to read the host: before that, the State was computed for
// the previous spec. Without the node's slot nothing may be decided: observe returns an error
// if that could not be read.
func (a *Agent) observe(ctx context.Context) (machine.Observation, error) {
	o := machine.Observation{
		Now: a.Now(), WatchingSince: a.started,
		Drain: a.drained, RebootAskedAt: a.rebootAt, RebootProblem: a.rebootProblem,
	}
	nu := a.nodeUpgrade()
	if nu != nil {
		o.Managed, o.GiveBack, o.Spec = nu.Spec.Managed, !nu.Spec.Managed, nu.Spec
	}
	if err := a.observeNode(ctx, &o, nu); err != nil {
		return o, err
	}
	if nu != nil && (o.Host != nil || o.HostProblem != "") {
		a.generation = nu.Generation
	}
	return o, nil
}

// observeNode fills in the observation of the node and its host.
func (a *Agent) observeNode(ctx context.Context, o *machine.Observation, nu *v1alpha1.NodeUpgrade) error {
	node := a.node()
	if node == nil {
		o.HostProblem = "this node's Node object does not exist"
		return nil
	}
	o.Node = nodeOf(node)
	if err := a.leases.follow(ctx, a.slotScope(nu, node)); err != nil {
		return err
	}
	o.Slot = a.slot(node, orderedSlot(nu))
	if err := a.readHost(ctx, o); err != nil {
		o.Host, o.HostProblem = nil, err.Error()
	}
	a.readLease(ctx, o)
	a.etcd.wanted = false
	if machine.NeedsGate(a.state, *o) && a.gateDue(ctx, *o) {
		gate := a.gate(ctx, node, *o)
		o.Gate = &gate
	}
	if o.Host == nil {
		return nil
	}
	if machine.NeedsHealth(a.state, *o) && a.checkEtcd(ctx, *o, a.state.Since) {
		o.Health = a.health(ctx, *o)
	}
	a.refreshEtcd(ctx, *o)
	a.checkRegistration(ctx, o)
	return nil
}

// gateDue reports whether the gate is to be read now: during a drain, before each round.
// It needs etcd's health from the host, except on a worker that drains.
func (a *Agent) gateDue(ctx context.Context, o machine.Observation) bool {
	draining := a.state.Step == v1alpha1.StepDraining
	switch {
	case draining && !a.roundDue(o.Now):
		return false
	case o.Host == nil:
		return draining && !a.onControlPlane()
	}
	return a.checkEtcd(ctx, o, time.Time{})
}

func nodeOf(node *corev1.Node) machine.Node {
	seen := machine.Node{
		Unschedulable:  node.Spec.Unschedulable,
		SlotMark:       node.Annotations[v1alpha1.SlotAnnotation],
		KubeletVersion: node.Status.NodeInfo.KubeletVersion,
		BootID:         node.Status.NodeInfo.BootID,
	}
	_, seen.OurCordon = node.Annotations[v1alpha1.CordonAnnotation]
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			seen.Ready, seen.ReadySince = condition.Status == corev1.ConditionTrue, condition.LastTransitionTime.Time
		}
	}
	return seen
}

func ownerOf(node *corev1.Node) fleet.Owner {
	return fleet.Owner{Node: node.Name, UID: string(node.UID)}
}

// slot returns which slot this node holds, and which one is reserved for it, according to the
// watch. Another slot than its order or its mark names does not count: another client wrote that
// Lease, and the coordinator mends it. It skips a Lease that cannot be parsed.
func (a *Agent) slot(node *corev1.Node, ordered string) machine.Slot {
	var seen machine.Slot
	me, mark := ownerOf(node), node.Annotations[v1alpha1.SlotAnnotation]
	for _, lease := range a.leases.leases() {
		s, err := slot.FromLease(lease)
		if err != nil || ordered != "" && s.Name != ordered && s.Name != mark {
			continue
		}
		if s.Holder == me && (seen.Held == "" || s.Name == mark) {
			seen.Held = s.Name
		}
		if s.ReservedFor == me && (s.Holder == fleet.Owner{} || s.Holder == me) {
			seen.Reserved = s.Name
		}
	}
	return seen
}

// orderedSlot returns the slot that the NodeUpgrade's order names; empty: none.
func orderedSlot(nu *v1alpha1.NodeUpgrade) string {
	if nu == nil {
		return ""
	}
	return nu.Spec.Slot
}
