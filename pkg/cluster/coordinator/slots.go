package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
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
		problems = append(problems, c.reap(ctx, owner, slices.Contains(p.NotBack, owner)))
	}
	for _, owner := range p.Abandon {
		problems = append(problems, c.freeAbandoned(ctx, owner))
	}
	for _, held := range p.GiveBack {
		problems = append(problems, c.giveBack(ctx, held))
	}
	if p.Ensure {
		problems = append(problems, c.slots.Ensure(ctx, p.Count))
	}
	return errors.Join(problems...)
}

// withdrawSlots frees the slots that are reserved for nodes which may not begin now. A node
// that has taken its slot meanwhile may be about to be cordoned.
func (c *Coordinator) withdrawSlots(ctx context.Context, reserved []clusterstate.Slot) error {
	var problems []error
	for _, one := range reserved {
		problems = append(problems, c.slots.Withdraw(ctx, one.Name, one.ReservedFor))
	}
	return errors.Join(problems...)
}

// restoreSlot restores a node's slot whose Lease is gone or does not name it. It reads the live
// objects first, because the node may just have freed its slot, and the node that the Lease names
// may have taken it, or be about to begin with it: a node that was abandoned gets its slot back
// after that.
func (c *Coordinator) restoreSlot(ctx context.Context, lost plan.LostSlot) error {
	took, err := c.tookSlot(ctx, lost.Name, lost.Owner)
	if err != nil || !took {
		return err
	}
	if lost.Instead != (clusterstate.Owner{}) {
		u, mark, err := c.signsOf(ctx, lost.Instead)
		if err != nil || u != nil && rules.UsesSlot(u, mark, lost.Name) {
			return err
		}
	}
	err = c.slots.Restore(ctx, lost.Name, lost.Owner, lost.Instead)
	if errors.Is(err, slot.ErrTaken) {
		return nil // the next plan sees that
	}
	if err == nil {
		c.log.Warn("a slot was mended, as its Lease did not name the node that has taken it", "slot", lost.Name, "node", lost.Owner.Node, "instead", lost.Instead.Node)
	}
	return err
}

// tookSlot reports whether the node has taken the slot, according to its live marks and steps.
func (c *Coordinator) tookSlot(ctx context.Context, name string, owner clusterstate.Owner) (bool, error) {
	u, mark, err := c.signsOf(ctx, owner)
	return u != nil && u.Spec.Slot == name && rules.TookSlot(u, mark), err
}

// giveBack frees a slot whose holder has not taken it. It reads the live objects first, because
// the node may have begun.
func (c *Coordinator) giveBack(ctx context.Context, held clusterstate.Slot) error {
	u, mark, err := c.signsOf(ctx, held.Holder)
	if err != nil {
		return err
	}
	_, err = c.ours.NodeInventories.Get(ctx, held.Holder.Node, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading NodeInventory %s before slot %s is given back: %w", held.Holder.Node, held.Name, err)
	}
	if rules.MayKeepSlot(u, err == nil, mark, held.Name) {
		return nil
	}
	c.log.Warn("a slot is given back, as its Lease names a node that has not taken it", "slot", held.Name, "node", held.Holder.Node)
	return c.slots.GiveBack(ctx, held.Name, held.Holder)
}

// signsOf reads from the API server what says whether a node is out of service: its NodeUpgrade,
// or nil, and the slot in its Node's annotation. Both are empty if the Node is gone.
func (c *Coordinator) signsOf(ctx context.Context, owner clusterstate.Owner) (u *v1alpha1.NodeUpgrade, mark string, err error) {
	node, err := c.kube.CoreV1().Nodes().Get(ctx, owner.Node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && string(node.UID) != owner.UID:
		return nil, "", nil
	case err != nil:
		return nil, "", fmt.Errorf("reading node %s before its slot is changed: %w", owner.Node, err)
	}
	u, err = c.nodeUpgradeOf(ctx, owner)
	return u, node.Annotations[v1alpha1.SlotAnnotation], err
}

// reap frees the slots of a node that is gone; notBack if its machine was out of service and did not come back. A cache
// that lags may not know a Node that has just joined.
func (c *Coordinator) reap(ctx context.Context, owner clusterstate.Owner, notBack bool) error {
	err := c.slots.Reap(ctx, owner)
	switch {
	case errors.Is(err, slot.ErrNodeExists):
		return nil
	case err != nil:
		return err
	case notBack:
		c.recordNotBack(owner)
	}
	c.log.Info("a slot was freed, as its node is gone", "node", owner.Node, "notBack", notBack)
	return nil
}

// freeAbandoned frees the slots of a node that a person has abandoned. It reads the
// live NodeUpgrade first, because the person may have withdrawn that.
func (c *Coordinator) freeAbandoned(ctx context.Context, owner clusterstate.Owner) error {
	u, err := c.nodeUpgradeOf(ctx, owner)
	if err != nil || u == nil || u.Abandoned == nil {
		return err
	}
	c.log.Info("a slot is freed, as its node was abandoned", "node", owner.Node, "reason", u.Abandoned.Comment)
	return c.slots.Abandon(ctx, owner)
}

// nodeUpgradeOf reads a node's NodeUpgrade from the API server. Nil: it is gone, or
// is another node's of the same name.
func (c *Coordinator) nodeUpgradeOf(ctx context.Context, owner clusterstate.Owner) (*v1alpha1.NodeUpgrade, error) {
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
