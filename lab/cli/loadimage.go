package cli

import "github.com/spf13/cobra"

func loadImageCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:   "load-image FILE",
		Short: "Put a container image on the lab's registry",
		Long: `Put a container image, an archive as docker save writes it, on the lab's
registry. Nodes pull it under its own reference: the lab's registry answers for
every registry.`,
		Example: "  lab load-image bin/node-agent.tar",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			return c.LoadImage(cmd.Context(), args[0])
		},
	}
}
