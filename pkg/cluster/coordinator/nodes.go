package coordinator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// writers is how many NodeUpgrades are written at a time, but by Steps.
const writers = 8

func index(list []v1alpha1.NodeUpgrade) map[string]*v1alpha1.NodeUpgrade {
	byName := make(map[string]*v1alpha1.NodeUpgrade, len(list))
	for i := range list {
		byName[list[i].Name] = &list[i]
	}
	return byName
}

// withdraws reports whether the plan withdraws the release of a node.
func withdraws(was *v1alpha1.NodeUpgrade, n plan.NodePlan) bool {
	return was != nil && was.Spec.Release.Granted() && !n.Spec.Release.Granted()
}

// withdrawReleases withdraws releases. It runs before any node is released.
func (c *Coordinator) withdrawReleases(ctx context.Context, stored map[string]*v1alpha1.NodeUpgrade, nodes []plan.NodePlan) error {
	return c.writeEach(ctx, nodes, func(n plan.NodePlan) error {
		if was := stored[n.Name]; withdraws(was, n) {
			return c.write(ctx, was, n)
		}
		return nil
	})
}

// release reserves each node's slot and then releases the node. A slot that another
// coordinator has reserved meanwhile is skipped: the next plan sees that.
func (c *Coordinator) release(ctx context.Context, stored map[string]*v1alpha1.NodeUpgrade, nodes []plan.NodePlan) error {
	return c.writeEach(ctx, nodes, func(n plan.NodePlan) error {
		if n.Slot == "" {
			return nil
		}
		err := c.slots.Reserve(ctx, n.Slot, n.Owner)
		switch {
		case errors.Is(err, slot.ErrTaken):
			return nil
		case err != nil:
			return err
		}
		return c.write(ctx, stored[n.Name], n)
	})
}

// updateRest writes the NodeUpgrades of all nodes that are not released now, and whose release is not
// withdrawn.
func (c *Coordinator) updateRest(ctx context.Context, stored map[string]*v1alpha1.NodeUpgrade, nodes []plan.NodePlan) error {
	return c.writeEach(ctx, nodes, func(n plan.NodePlan) error {
		if was := stored[n.Name]; n.Slot == "" && !withdraws(was, n) {
			return c.write(ctx, was, n)
		}
		return nil
	})
}

// writeEach calls write for each node, for c.writers of them at a time, and returns all errors.
func (c *Coordinator) writeEach(ctx context.Context, nodes []plan.NodePlan, write func(plan.NodePlan) error) error {
	var mutex sync.Mutex
	var problems []error
	workqueue.ParallelizeUntil(ctx, c.writers, len(nodes), func(i int) {
		if err := write(nodes[i]); err != nil {
			mutex.Lock()
			problems = append(problems, err)
			mutex.Unlock()
		}
	})
	return errors.Join(append(problems, ctx.Err())...)
}

// write writes a node's part of the plan into its NodeUpgrade.
func (c *Coordinator) write(ctx context.Context, was *v1alpha1.NodeUpgrade, n plan.NodePlan) error {
	switch {
	case was != nil && !was.OwnedBy(types.UID(n.Owner.UID)):
		// It belongs to an earlier Node of that name, whose status must not be used.
		// The next plan creates a new one.
		return c.remove(ctx, was, "it belongs to an earlier node of that name")
	case !n.Managed && !n.HasAgent && was == nil:
		return nil
	case !n.Managed && !n.HasAgent && untouched(was, n):
		return c.remove(ctx, was, "the node is not managed, and no agent runs on it")
	}
	generation, err := c.writeSpec(ctx, was, n)
	if err != nil {
		return err
	}
	return c.writeAdmission(ctx, cmp.Or(was, &v1alpha1.NodeUpgrade{}), n, generation)
}

// untouched reports whether nothing of kubectl-upgrade is on the node, and nothing is
// requested of it.
func untouched(was *v1alpha1.NodeUpgrade, n plan.NodePlan) bool {
	phase := was.Status.Step.Info().Phase
	return (phase == v1alpha1.PhaseInService || phase == v1alpha1.PhaseUnsupported) && n.Spec.Upgrade == nil &&
		!was.Spec.Release.Granted() && !meta.IsStatusConditionTrue(was.Status.Conditions, v1alpha1.ConditionManaged)
}

// remove deletes a NodeUpgrade, unless it has changed since it was read.
func (c *Coordinator) remove(ctx context.Context, was *v1alpha1.NodeUpgrade, why string) error {
	options := only(was)
	options.Preconditions.ResourceVersion = &was.ResourceVersion
	if err := deleted("NodeUpgrade", was, c.ours.NodeUpgrades.Delete(ctx, was.Name, options)); err != nil {
		return err
	}
	c.log.Info("deleted a NodeUpgrade", "node", was.Name, "why", why)
	return nil
}

// writeSpec writes a node's spec if it differs from the stored one, and returns the
// generation of the spec. It writes only what it was decided from: a watch that lags may lack a
// NodeUpgrade, whose order a node is at work with, or still show a slot that was withdrawn since.
func (c *Coordinator) writeSpec(ctx context.Context, was *v1alpha1.NodeUpgrade, n plan.NodePlan) (int64, error) {
	if was != nil && len(was.OwnerReferences) > 0 && sameOrder(&was.Spec, &n.Spec) {
		return was.Generation, nil
	}
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: n.Owner.Node, UID: types.UID(n.Owner.UID)}
	var written *v1alpha1.NodeUpgrade
	var err error
	if was == nil {
		object := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: n.Name, OwnerReferences: []metav1.OwnerReference{owner}}, Spec: n.Spec}
		written, err = c.ours.NodeUpgrades.Create(ctx, object, metav1.CreateOptions{FieldManager: manager})
	} else {
		object := was.DeepCopy()
		if len(was.OwnerReferences) == 0 {
			object.OwnerReferences = []metav1.OwnerReference{owner}
		}
		object.Spec = n.Spec
		written, err = c.ours.NodeUpgrades.Update(ctx, object, metav1.UpdateOptions{FieldManager: manager})
	}
	if err != nil {
		return 0, fmt.Errorf("writing the spec of NodeUpgrade %s: %w", n.Name, err)
	}
	c.logSpec(was, n)
	return written.Generation, nil
}

// clearAbandoned removes the field abandoned of nodes whose agents report again. The
// next plan treats them like any other node.
func (c *Coordinator) clearAbandoned(ctx context.Context, stored map[string]*v1alpha1.NodeUpgrade, nodes []plan.NodePlan) error {
	var problems []error
	for _, n := range nodes {
		if was := stored[n.Name]; n.Returned && was != nil && was.Abandoned != nil {
			problems = append(problems, c.clearAbandonment(ctx, was))
		}
	}
	return errors.Join(problems...)
}

// clearAbandonment removes the field only if the object has not changed since: a
// person who abandons the node again meanwhile prevails.
func (c *Coordinator) clearAbandonment(ctx context.Context, was *v1alpha1.NodeUpgrade) error {
	patch, err := json.Marshal(map[string]any{
		"metadata":  map[string]any{"uid": was.UID, "resourceVersion": was.ResourceVersion},
		"abandoned": nil,
	})
	if err != nil {
		return err
	}
	_, err = c.ours.NodeUpgrades.Patch(ctx, was.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil // it changed: the next plan sees the new state
	case err != nil:
		return fmt.Errorf("clearing abandoned of NodeUpgrade %s: %w", was.Name, err)
	}
	c.recordReturned(was)
	return nil
}

// writeAdmission applies a node's condition Admitted, with the time at which its
// reason ends, if it differs from the stored one. The rest of the status is the
// agent's.
func (c *Coordinator) writeAdmission(ctx context.Context, was *v1alpha1.NodeUpgrade, n plan.NodePlan, generation int64) error {
	now := time.Now()
	stored, wanted := coordinatorsPart(was), admission(was, n, generation, now)
	limit := c.reasons.limit
	if n.Decision == plan.Go {
		limit = unlimited // it begins soon, and then has no condition
	}
	switch {
	case sameAdmitted(stored, wanted), sameReason(stored, wanted):
		c.reasons.written(n.Name)
		return nil
	case mayPass(stored, wanted) && !n.Began && !c.reasons.due(n.Name, string(n.Reason), limit, now):
		return nil
	}
	object := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Status: wanted.status()}
	if _, err := c.ours.NodeUpgrades.Apply(ctx, object, manager, "status"); err != nil {
		return fmt.Errorf("applying the condition %s of NodeUpgrade %s: %w", v1alpha1.ConditionAdmitted, n.Name, err)
	}
	return nil
}

// coordinatorsPart returns what the coordinator owns of a NodeUpgrade's status.
func coordinatorsPart(n *v1alpha1.NodeUpgrade) admitted {
	return admitted{meta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionAdmitted), n.Status.HoldEndTime}
}

// status is the part as it is applied.
func (a admitted) status() v1alpha1.NodeUpgradeStatus {
	status := v1alpha1.NodeUpgradeStatus{HoldEndTime: a.until}
	if a.condition != nil {
		status.Conditions = []metav1.Condition{*a.condition}
	}
	return status
}

// admission returns what the coordinator's part should be.
func admission(was *v1alpha1.NodeUpgrade, n plan.NodePlan, generation int64, now time.Time) admitted {
	present, admits := n.Admission()
	if !present {
		return admitted{}
	}
	condition := metav1.Condition{
		Type: v1alpha1.ConditionAdmitted, Status: metav1.ConditionFalse, Reason: string(n.Reason), Message: n.Message,
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second)),
	}
	if admits {
		condition.Status = metav1.ConditionTrue
	}
	if _, cause := was.Status.Cause(); cause == n.Message && n.Reason.Info().Giver == v1alpha1.GivenByAgent {
		condition.Message = "" // the condition UpToDate has it
	}
	if stored := coordinatorsPart(was).condition; stored != nil && stored.Status == condition.Status {
		condition.LastTransitionTime = stored.LastTransitionTime
	}
	part := admitted{condition: &condition}
	if n.Until != nil {
		part.until = &metav1.Time{Time: n.Until.UTC().Truncate(time.Second)}
	}
	return part
}
