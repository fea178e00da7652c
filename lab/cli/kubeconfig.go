package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func kubeconfigCommand(where *folders) *cobra.Command {
	pathOnly, management := false, false
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
			path := c.Kubeconfig()
			if management {
				path = c.ManagementKubeconfig()
			}
			config, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("reading the kubeconfig, which `lab up` writes: %w", err)
			}
			if pathOnly {
				config = []byte(path + "\n")
			}
			_, err = cmd.OutOrStdout().Write(config)
			return err
		},
	}
	cmd.Flags().BoolVar(&pathOnly, "path", false, "print where it is instead")
	cmd.Flags().BoolVar(&management, "management", false, "that of Cluster API's management cluster, for a lab that was made with --cluster-api")
	return cmd
}
