package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
)

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
