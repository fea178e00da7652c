package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/demo"
)

func demoCommand(where *folders) *cobra.Command {
	options := demo.Options{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the main job: a new patch reaches every node by itself",
		Long: `Show the main job: a new Kubernetes patch reaches every node of a real cluster
with no further command, while a web service on it answers every request. The
cluster stays up afterwards.`,
		Example: "  make demo\n  lab demo --source . --image bin/node-agent.tar",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			program, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding this program: %w", err)
			}
			options.Program, options.State, options.Cache = program, where.state, where.cache
			options.Out = cmd.OutOrStdout()
			return demo.Run(cmd.Context(), options)
		},
	}
	cmd.Flags().StringVar(&options.Source, "source", ".", "the checkout, for its manifests")
	cmd.Flags().StringVar(&options.Image, "image", "bin/node-agent.tar", "the product's image, as `make image` builds it")
	return cmd
}
