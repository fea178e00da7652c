package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cluster"
)

func updateEngineCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:   "update-engine NODE " + strings.Join(cluster.UpdateStatuses(), "|"),
		Short: "Set the status of a node's update_engine, until its next boot",
		Long: `Have a node's update_engine say something, until its next boot. need-reboot also
leaves /run/reboot-required, as Flatcar's does. For a lab that was made with
--update-engine.`,
		Example: "  lab update-engine w1 need-reboot",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			return c.SetUpdateEngine(cmd.Context(), args[0], args[1])
		},
	}
}
