package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

func newAbandon(p *program) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "abandon NODE --reason TEXT",
		Short: "Declare that a node will not come back",
		Long: `Declares that NODE will not come back: its slot is freed and the upgrade continues
without it. The slot of a lost node does not expire, because time alone cannot tell
a slow node from a dead one.

Make sure that it is powered off: if it is only slow, one more node than the budget
allows would be out of service.

The node is left out until its agent reports again and the node is Ready. Then it
takes part again by itself, from the beginning and with a slot of its own. Repair a
failed node first. If a node will never join again, delete its Node:
` + "`kubectl delete node NODE`" + `.`,
		Example:           `  kubectl upgrade abandon worker-3 --reason "disk died, ticket 4711"`,
		Args:              named("node"),
		ValidArgsFunction: p.completeNode(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkReason(reason); err != nil {
				return err
			}
			return p.abandon(cmd.Context(), args[0], strings.TrimSpace(reason))
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "Why, for people who read it later. Required.")
	return cmd
}

// abandon sets the field abandoned of the NodeUpgrade.
func (p *program) abandon(ctx context.Context, node, reason string) error {
	reader, err := p.reader()
	if err != nil {
		return err
	}
	u, err := reader.kinds.NodeUpgrades.Get(ctx, node, metav1.GetOptions{})
	switch {
	case isMissing(err):
		return fmt.Errorf("there is no node %q; `kubectl upgrade status` lists them", node)
	case err != nil:
		return explain("reading NodeUpgrade "+node, err)
	}
	if err := checkAnswer("reading NodeUpgrade "+node, u, node); err != nil {
		return err
	}
	now := metav1.NewTime(p.now())
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": u.UID}, "abandoned": v1alpha1.Abandoned{Reason: reason, Time: &now, By: reader.user(ctx)},
	})
	if err != nil {
		return err
	}
	if _, err := reader.kinds.NodeUpgrades.Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager}); err != nil {
		return explain("changing NodeUpgrade "+node, err)
	}
	fmt.Fprintf(p.Out, "nodeupgrade.%s/%s abandoned\n", v1alpha1.Group, node)
	if view.StateOf(u.Status.Step) != view.StateFailed && reader.isReady(ctx, node) {
		fmt.Fprintf(p.ErrOut, "warning: node %s is Ready: it takes part again as soon as its agent has seen this\n", node)
	}
	return nil
}

// isReady reports whether the Node is known to be Ready.
func (r *reader) isReady(ctx context.Context, name string) bool {
	node, err := r.core.Nodes().Get(ctx, name, metav1.GetOptions{})
	return err == nil && strings.HasPrefix(view.Condition(*node), "Ready")
}
