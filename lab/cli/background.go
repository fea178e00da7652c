package cli

import "github.com/spf13/cobra"

// serveCommand, manageCommand and superviseCommand are the background processes of a lab.
func serveCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:    "serve",
		Short:  "Run the bridge's services (what `lab up` starts)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			return c.Serve(cmd.Context())
		},
	}
}

func manageCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:    "manage",
		Short:  "Run Cluster API and its management cluster (what `lab up --cluster-api` starts)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			return c.Manage(cmd.Context())
		},
	}
}

func stopManagementCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:   "stop-management",
		Short: "End Cluster API and its management cluster, as when they are lost; `lab up` starts them again",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			return c.StopManaging(cmd.Context())
		},
	}
}

func superviseCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:    "supervise NODE",
		Short:  "Keep a node running over its reboots (what `lab start` starts)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			machine, err := c.Node(args[0])
			if err != nil {
				return err
			}
			return machine.Supervise(cmd.Context())
		},
	}
}
