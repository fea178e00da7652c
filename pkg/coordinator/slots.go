package coordinator

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// keepSlots carries out the slot plan. Slots are rebuilt before missing ones are
// created, so that a Lease that was deleted while a node held it is not created again
// as a free one. A slot that cannot be written does not stop the others.
func (c *Coordinator) keepSlots(ctx context.Context, p plan.SlotPlan) error {
	var problems []error
	for _, lost := range p.Restore {
		problems = append(problems, c.restoreSlot(ctx, lost))
	}
	for _, owner := range p.Reap {
		problems = append(problems, c.reap(ctx, owner))
	}
	for _, owner := range p.Abandon {
		problems = append(problems, c.freeAbandoned(ctx, owner))
	}
	if p.Ensure {
		problems = append(problems, c.slots.Ensure(ctx, p.Count))
	}
	return errors.Join(problems...)
}

// withdrawSlots frees the slots that are reserved for nodes which may not begin now. A node
// that has taken its slot meanwhile may be about to be cordoned.
func (c *Coordinator) withdrawSlots(ctx context.Context, owners []fleet.Owner) error {
	var problems []error
	for _, owner := range owners {
		problems = append(problems, c.slots.Withdraw(ctx, owner))
	}
	return errors.Join(problems...)
}

// restoreSlot restores a node's slot whose Lease is gone or has lost its holder. It reads
// the live objects first, because the node may just have freed its slot.
func (c *Coordinator) restoreSlot(ctx context.Context, lost fleet.Slot) error {
	u, err := c.nodeUpgradeOf(ctx, lost.Holder)
	if err != nil || u == nil {
		return err
	}
	node, err := c.kube.CoreV1().Nodes().Get(ctx, lost.Holder.Node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading node %s before its slot is rebuilt: %w", lost.Holder.Node, err)
	case string(node.UID) != lost.Holder.UID || u.Spec.Slot != lost.Name || !plan.TookSlot(u, node.Annotations[v1alpha1.SlotAnnotation]):
		return nil
	}
	err = c.slots.Restore(ctx, lost.Name, lost.Holder)
	if errors.Is(err, slot.ErrTaken) {
		return nil // the next plan sees that
	}
	if err == nil {
		c.log.Warn("a slot was rebuilt, as its Lease was gone or had lost its holder", "slot", lost.Name, "node", lost.Holder.Node)
	}
	return err
}

// reap frees the slots of a node that is gone. A cache that lags may not know a Node
// that has just joined.
func (c *Coordinator) reap(ctx context.Context, owner fleet.Owner) error {
	err := c.slots.Reap(ctx, owner)
	if errors.Is(err, slot.ErrNodeExists) {
		return nil
	}
	if err == nil {
		c.log.Info("a slot was freed, as its node is gone", "node", owner.Node)
	}
	return err
}

// freeAbandoned frees the slots of a node that a person has abandoned. It reads the
// live NodeUpgrade first, because the person may have withdrawn that.
func (c *Coordinator) freeAbandoned(ctx context.Context, owner fleet.Owner) error {
	u, err := c.nodeUpgradeOf(ctx, owner)
	if err != nil || u == nil || u.Abandoned == nil {
		return err
	}
	c.log.Info("a slot is freed, as its node was abandoned", "node", owner.Node, "reason", u.Abandoned.Reason)
	return c.slots.Abandon(ctx, owner)
}

// nodeUpgradeOf reads a node's NodeUpgrade from the API server. Nil: it is gone, or
// is another node's of the same name.
func (c *Coordinator) nodeUpgradeOf(ctx context.Context, owner fleet.Owner) (*v1alpha1.NodeUpgrade, error) {
	u, err := c.ours.NodeUpgrades.Get(ctx, owner.Node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading NodeUpgrade %s before its slot is changed: %w", owner.Node, err)
	case !u.OwnedBy(types.UID(owner.UID)):
		return nil, nil
	}
	return u, nil
}
