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
		Example: `  make demo
  LAB_FROM=upstream make demo              # download Kubernetes instead of compiling it
  lab demo --source . --image bin/node-agent.tar`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			program, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding this program: %w", err)
			}
			options.Program, options.State = program, where.state
			options.Out = cmd.OutOrStdout()
			return demo.Run(cmd.Context(), options)
		},
	}
	cmd.Flags().StringVar(&options.Source, "source", ".", "the checkout, for its manifests")
	cmd.Flags().StringVar(&options.Image, "image", "bin/node-agent.tar", "the product's image, as `make image` builds it")
	fromFlag(cmd, &options.From)
	return cmd
}
