package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

func newRollback(p *program) *cobra.Command {
	a := &apply{program: p, request: request.Upgrade{Type: v1alpha1.TypeRollback}}
	all, to := false, ""
	cmd := &cobra.Command{
		Use:   "rollback [NODE...|--all] --reason TEXT",
		Short: "Take the kubelets of nodes back to a former patch",
		Long: `Takes the kubelets of nodes back to a former patch of their minor: in the same order, budget
and windows as an upgrade, with the same drains and the same guard. It shows the plan, asks for
confirmation, creates a ClusterUpgrade of type Rollback, and follows it to its end, as
` + "`kubectl upgrade apply`" + ` does. It goes before other upgrades, and ends those that bring what it
takes back. The static pods of control planes stay: kubeadm does not go back.

Give the nodes, or --all for every managed node. Without --to they go back to the newest older
patch of the minor that this cluster ran or, if none is known, that the source offers.

What was taken back is blocked: no automatic upgrade brings it again, here or in clusters that
follow this one. A person does, by ` + "`kubectl upgrade apply VERSION --ignore-check\nversion-blocked=REASON`" + `. Nodes that were named stay on hold until you remove the label
kubectl-upgrade.dev/hold of each.

Exit codes: as of ` + "`kubectl upgrade apply`" + `.`,
		Example: `  kubectl upgrade rollback --all --reason "volumes do not mount, ticket 4711"
  kubectl upgrade rollback worker-3 --to v1.34.3 --reason "its disk is new"
  kubectl upgrade rollback --all --to v1.34.3 --reason "nodes crash" \
    --ignore-windows --max-unavailable 20% --yes`,
		Args:              nodeNamesOnly,
		ValidArgsFunction: p.completeNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return errors.New("NODE and --all cannot be combined: leave out one of them")
			case !all && len(args) == 0:
				return errors.New("which nodes are taken back: give their names, or --all")
			}
			if err := checkReason(a.request.Reason); err != nil {
				return err
			}
			for _, arg := range args {
				a.request.Nodes = append(a.request.Nodes, nodeResource.in([]string{arg}))
			}
			a.noteGiven(cmd, to)
			return inOrder(cmd, a)
		},
	}
	a.output.addTo(cmd)
	a.dryRun.addTo(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&all, "all", false, "Take every managed node back.")
	flags.StringVar(&to, "to", "", "The version, such as v1.34.3. Default: the newest older patch that this cluster ran.")
	a.addRequestFlags(cmd)
	for name, usage := range map[string]string{
		"dry-run": dryRunOfPlan,
		"output":  "Print the ClusterUpgrade as json, yaml, name, … and do not follow it; wide: a plan with more columns.",
		"reason":  "Why, for people who read the record. Required.",
		"method":  "Reboot; or SoftReboot: drain, and start everything again but kernel and firmware (systemd 256 or later).",
		"retry":   "Replace a failed rollback to this version by a new one.",
	} {
		flags.Lookup(name).Usage = usage
	}
	_ = cmd.RegisterFlagCompletionFunc("to", p.completeFlag(versionsRun))
	return cmd
}

// nodeNamesOnly checks that each argument names a node.
func nodeNamesOnly(_ *cobra.Command, args []string) error {
	for _, arg := range args {
		if _, err := nodeResource.name(arg); err != nil {
			return err
		}
	}
	return nil
}

// completeNodes offers the nodes that are not given yet.
func (p *program) completeNodes(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	names, directive := p.candidatesFor(cmd, nodeNames)
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), directive
}

// versionsRun returns the versions that the cluster has run.
func versionsRun(ctx context.Context, reader *reader) (names []string, err error) {
	policy, err := reader.policy(ctx)
	if err != nil || policy == nil {
		return nil, err
	}
	for _, ran := range policy.Status.Ran {
		names = append(names, cobra.CompletionWithDesc(ran.Version, fmt.Sprintf("by %s", ran.Upgrade.Name)))
	}
	return names, nil
}
