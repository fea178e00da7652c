package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// abandon is `kubectl upgrade abandon` with its arguments.
type abandon struct {
	*program
	dryRun
	reason string
	yes    bool
}

func newAbandon(p *program) *cobra.Command {
	a := &abandon{program: p}
	cmd := &cobra.Command{
		Use:   "abandon NODE --reason TEXT",
		Short: "Declare that a node will not come back",
		Long: `Declares that NODE will not come back: its slot is freed and the upgrade continues
without it. The slot of a lost node does not expire, because time alone cannot tell
a slow node from a dead one.

Make sure that it is powered off: if it is only slow, one more node than the budget
allows would be out of service. The command asks for confirmation.

The node is left out until its agent reports again and the node is Ready. Then it
takes part again by itself, from the beginning and with a slot of its own. Repair a
failed node first. If a node will never join again, delete its Node:
` + "`kubectl delete node NODE`" + `.`,
		Example:           `  kubectl upgrade abandon worker-3 --reason "disk died, ticket 4711"`,
		Args:              nodeResource.required,
		ValidArgsFunction: p.complete(nodeNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), nodeResource.in(args))
		},
	}
	a.dryRun.addTo(cmd)
	flags := cmd.Flags()
	flags.StringVar(&a.reason, "reason", "", "Why, for people who read it later. Required.")
	flags.BoolVarP(&a.yes, "yes", "y", false, "Do not ask for confirmation.")
	return cmd
}

// run sets the field abandoned of the NodeUpgrade.
func (a *abandon) run(ctx context.Context, node string) error {
	if err := cmp.Or(checkReason(a.reason), a.dryRun.check()); err != nil {
		return err
	}
	reader, err := a.reader()
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
	if view.StateOf(u.Status.Step) != view.StateFailed && reader.isReady(ctx, node) {
		fmt.Fprintf(a.ErrOut, "warning: node %s is Ready: it takes part again as soon as its agent has seen this\n", node)
	}
	a.readName(ctx, reader)
	if err := a.confirm(ctx, node); err != nil {
		return err
	}
	if err := a.write(ctx, reader, u); err != nil {
		return err
	}
	a.answer(fmt.Sprintf("nodeupgrade.%s/%s abandoned", v1alpha1.Group, node), a.dryRun)
	return nil
}

// confirm asks a person. It returns nil for a yes, with --yes, and if nothing is changed.
func (a *abandon) confirm(ctx context.Context, node string) error {
	if a.yes || a.mode != dryRunNone {
		return nil
	}
	return a.question(ctx, fmt.Sprintf("Is node %s%s powered off, and will it not come back? Its slot is freed.", node, a.ofCluster()), "nothing was changed")
}

// write writes the field.
func (a *abandon) write(ctx context.Context, reader *reader, u *v1alpha1.NodeUpgrade) error {
	if a.mode == dryRunClient {
		return nil
	}
	now := metav1.NewTime(a.now())
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": u.UID}, "abandoned": v1alpha1.Abandoned{Comment: strings.TrimSpace(a.reason), Time: &now, By: reader.user(ctx)},
	})
	if err != nil {
		return err
	}
	_, err = reader.kinds.NodeUpgrades.Patch(ctx, u.Name, types.MergePatchType, patch, a.dryRun.patchOptions())
	return explain("changing NodeUpgrade "+u.Name, err)
}

// isReady reports whether the Node is known to be Ready.
func (r *reader) isReady(ctx context.Context, name string) bool {
	node, err := r.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	return err == nil && snapshot.Node(node).Ready
}
