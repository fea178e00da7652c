package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

func newReboot(p *program) *cobra.Command {
	a := &apply{program: p, request: request.Upgrade{Type: v1alpha1.TypeReboot}}
	cmd := &cobra.Command{
		Use:   "reboot [NODE...] --reason TEXT",
		Short: "Reboot the nodes whose operating system asks for it",
		Long: `Reboots nodes whose operating system asks for it, in the same order, budget and
windows as an upgrade, with the same drains. It shows the plan, asks for
confirmation, creates a ClusterUpgrade of type Reboot, and follows it to its end,
as ` + "`kubectl upgrade apply`" + ` does.

Without names it takes every node that asks, also those that begin to ask while it
is active: agents look every five minutes, and when it begins. It says beforehand
which of the named nodes ask; with --force it reboots the others, too: each once,
and none that has booted by itself since the upgrade began.

Exit codes: as of ` + "`kubectl upgrade apply`" + `.`,
		Example: `  kubectl upgrade reboot --reason "Flatcar 4459.2.1"
  kubectl upgrade reboot worker-3 --force --reason "firmware" --ignore-windows
  kubectl upgrade reboot --reason "kernel fix" --max-unavailable 20% --yes`,
		Args:              nodeNamesOnly,
		ValidArgsFunction: p.completeNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkReason(a.request.Reason); err != nil {
				return err
			}
			for _, arg := range args {
				a.request.Nodes = append(a.request.Nodes, nodeResource.in([]string{arg}))
			}
			a.noteGiven(cmd, "")
			a.request.Flags = slices.DeleteFunc(a.request.Flags, func(flag string) bool { return flag == "--reason" }) // one Reboot serves several reasons
			return inOrder(cmd, a)
		},
	}
	a.output.addTo(cmd)
	a.dryRun.addTo(cmd)
	a.addRequestFlags(cmd)
	cmd.Flags().BoolVar(&a.request.Force, "force", false, "Reboot the named NODEs whether they ask for it or not.")
	for name, usage := range map[string]string{
		"dry-run":    dryRunOfPlan,
		"output":     "Print the ClusterUpgrade as json, yaml, name, … and do not follow it; wide: a plan with more columns.",
		"reason":     "Why, for people who read the record. Required.",
		"start-time": "Do not begin before this time: RFC 3339, or 2026-12-24 18:00 in --time-zone.",
		"retry":      "Replace a Reboot that failed by a new one.",
		"detach":     "Return as soon as the ClusterUpgrade is created.",
	} {
		cmd.Flags().Lookup(name).Usage = usage
	}
	return cmd
}
