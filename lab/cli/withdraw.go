package cli

import "github.com/spf13/cobra"

func withdrawCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:     "withdraw VERSION",
		Short:   "Stop offering a version of Kubernetes",
		Example: "  lab withdraw v1.34.4",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			return c.Withdraw(args[0])
		},
	}
}
