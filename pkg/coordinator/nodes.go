package coordinator

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// writers is how many NodeUpgrades are written at a time.
const writers = 8

func index(list []v1alpha1.NodeUpgrade) map[string]*v1alpha1.NodeUpgrade {
	byName := make(map[string]*v1alpha1.NodeUpgrade, len(list))
	for i := range list {
		byName[list[i].Name] = &list[i]
	}
	return byName
}

// callBack takes releases away. It comes before anything is given to others.
func (c *Coordinator) callBack(ctx context.Context, stored map[string]*v1alpha1.NodeUpgrade, nodes []plan.NodePlan) error {
	var problems []error
	for _, n := range nodes {
		if was := stored[n.Name]; was != nil && released(was.Spec.Release) && !released(n.Spec.Release) {
			problems = append(problems, c.write(ctx, was, n))
		}
	}
	return errors.Join(problems...)
}

// letGo reserves each node's slot and then releases the node. A slot that
// somebody else was faster to get ends it: the next plan knows of that.
func (c *Coordinator) letGo(ctx context.Context, stored map[string]*v1alpha1.NodeUpgrade, nodes []plan.NodePlan) error {
	var problems []error
	for _, n := range nodes {
		if n.Slot == "" {
			continue
		}
		if err := c.slots.Reserve(ctx, n.Slot, n.Owner); err != nil {
			if !errors.Is(err, slot.ErrTaken) {
				problems = append(problems, err)
			}
			continue
		}
		problems = append(problems, c.write(ctx, stored[n.Name], n))
	}
	return errors.Join(problems...)
}

// tellOthers writes every other NodeUpgrade that does not say what it should.
func (c *Coordinator) tellOthers(ctx context.Context, stored map[string]*v1alpha1.NodeUpgrade, nodes []plan.NodePlan) error {
	var rest []plan.NodePlan
	for _, n := range nodes {
		if n.Slot == "" {
			rest = append(rest, n)
		}
	}
	var mutex sync.Mutex
	var problems []error
	workqueue.ParallelizeUntil(ctx, writers, len(rest), func(i int) {
		if err := c.write(ctx, stored[rest[i].Name], rest[i]); err != nil {
			mutex.Lock()
			problems = append(problems, err)
			mutex.Unlock()
		}
	})
	return errors.Join(problems...)
}

// write applies a node's spec where it differs from what is stored.
func (c *Coordinator) write(ctx context.Context, was *v1alpha1.NodeUpgrade, n plan.NodePlan) error {
	if was != nil {
		owned := ownedBy(was, n.Owner.UID)
		if owned && equality.Semantic.DeepEqual(was.Spec, n.Spec) {
			return nil
		}
		if !owned && len(was.OwnerReferences) > 0 {
			return c.removeStranger(ctx, was, n)
		}
	}
	object := &v1alpha1.NodeUpgrade{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Node", Name: n.Owner.Node, UID: types.UID(n.Owner.UID),
		}}},
		Spec: n.Spec,
	}
	if _, err := c.ours.NodeUpgrades.Apply(ctx, object, manager, ""); err != nil {
		return fmt.Errorf("applying NodeUpgrade %s: %w", n.Name, err)
	}
	c.tellNode(was, n)
	return nil
}

// removeStranger deletes what an earlier Node of that name left behind: its
// status would be taken for the new one's. The next plan makes it anew.
func (c *Coordinator) removeStranger(ctx context.Context, was *v1alpha1.NodeUpgrade, n plan.NodePlan) error {
	err := c.ours.NodeUpgrades.Delete(ctx, was.Name, *metav1.NewPreconditionDeleteOptions(string(was.UID)))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting NodeUpgrade %s of an earlier node: %w", was.Name, err)
	}
	c.log.Info("removed what an earlier node of that name left", "node", n.Name)
	return nil
}

func ownedBy(n *v1alpha1.NodeUpgrade, uid string) bool {
	for _, ref := range n.OwnerReferences {
		if ref.Kind == "Node" && string(ref.UID) == uid {
			return true
		}
	}
	return false
}

func released(r v1alpha1.Release) bool {
	return r == v1alpha1.ReleaseControlPlane || r == v1alpha1.ReleaseNode
}
