package plan

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// That an upgrade has begun opens something for every node: the gates at Upgrade and the hooks before it
// do not count any more, and nodes do not wait for each other's images. So no node may say that of itself,
// nor any Lease: the upgrade's status does, and orders, both of which the coordinator alone writes. What a
// node reports counts in the turn for which the coordinator has released it, as these gates were open and
// these hooks had run then.

// ordered reports whether the node's order names this upgrade and a slot: the coordinator has released it, and
// its turn has not ended.
func (t *target) ordered(n *node) bool { return t.isFor(n.spec.Upgrade) && n.spec.Slot != "" }

// beganOn reports whether the node has taken the slot for which it was released, or had taken it and has
// ended its turn. After its release is withdrawn the Lease has to say so, too: a node that had not taken its
// slot by then cannot.
func (t *target) beganOn(n *node) bool {
	return t.ordered(n) && (n.released() && (n.tookSlot || t.endedTurn(n)) || n.tookSlot && n.holdsLease())
}

// endedTurn reports whether the node has freed a slot in this upgrade after it was done, as it reports.
func (t *target) endedTurn(n *node) bool {
	return t.isFor(n.status.Upgrade) &&
		slices.ContainsFunc(n.status.Steps, func(s v1alpha1.StepTime) bool { return s.Step == v1alpha1.StepUnlocking })
}

// startTime returns when the upgrade has begun, as its status is to say: once a node may not abort its attempt
// any more. Nil: it has not. Late nodes come after that.
func (t *target) startTime(nodes []*node, now time.Time) *metav1.Time {
	begins := func(n *node) bool { return t.beganOn(n) && (n.mustFinish() || t.endedTurn(n)) }
	if t.Status.StartTime == nil && !t.forLateNodes && slices.ContainsFunc(nodes, begins) {
		return wholeSecond(now)
	}
	return t.Status.StartTime
}
