package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func kubeconfigCommand(where *folders) *cobra.Command {
	pathOnly := false
	cmd := &cobra.Command{
		Use:     "kubeconfig",
		Short:   "Print the administrator's kubeconfig",
		Example: "  export KUBECONFIG=$(lab kubeconfig --path)",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			config, err := os.ReadFile(c.Kubeconfig())
			if err != nil {
				return fmt.Errorf("reading the kubeconfig, which `lab up` writes: %w", err)
			}
			if pathOnly {
				config = []byte(c.Kubeconfig() + "\n")
			}
			_, err = cmd.OutOrStdout().Write(config)
			return err
		},
	}
	cmd.Flags().BoolVar(&pathOnly, "path", false, "print where it is instead")
	return cmd
}
