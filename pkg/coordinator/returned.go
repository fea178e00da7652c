package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// eventReturned is the reason of the event that a node which was given up takes
// part again.
const eventReturned = "Returned"

// welcome takes the mark away from nodes that were given up and are heard of
// again. The next plan knows them as any other node.
func (c *Coordinator) welcome(ctx context.Context, stored map[string]*v1alpha1.NodeUpgrade, nodes []plan.NodePlan) error {
	var problems []error
	for _, n := range nodes {
		if was := stored[n.Name]; n.Returned && was != nil {
			problems = append(problems, c.unmark(ctx, was))
		}
	}
	return errors.Join(problems...)
}

// unmark takes away the very mark that was judged: whoever gives the node up
// again meanwhile is heard.
func (c *Coordinator) unmark(ctx context.Context, was *v1alpha1.NodeUpgrade) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": was.UID, "resourceVersion": was.ResourceVersion,
		"annotations": map[string]any{v1alpha1.AbandonedAnnotation: nil},
	}})
	if err != nil {
		return err
	}
	_, err = c.ours.NodeUpgrades.Patch(ctx, was.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil // it changed: the next plan looks at it as it is
	case err != nil:
		return fmt.Errorf("taking the mark %s from NodeUpgrade %s: %w", v1alpha1.AbandonedAnnotation, was.Name, err)
	}
	reference := &corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeUpgrade", Name: was.Name, UID: was.UID,
	}
	c.events.Event(reference, corev1.EventTypeNormal, eventReturned,
		"its agent reports again, after it was given up ("+was.Annotations[v1alpha1.AbandonedAnnotation]+"): it takes part in upgrades")
	c.log.Info("a node that was given up reports again", "node", was.Name)
	return nil
}
