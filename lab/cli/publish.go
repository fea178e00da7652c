package cli

import (
	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cluster"
)

func publishCommand(where *folders) *cobra.Command {
	options := cluster.PublishOptions{}
	cmd := &cobra.Command{
		Use:   "publish VERSION",
		Short: "Offer a version of Kubernetes to the nodes",
		Long: `Offer a version of Kubernetes to the nodes: its sysext image, and all container
images that kubeadm needs. A version that was never built is built first.`,
		Example: `  lab publish v1.34.4
  lab publish v1.34.5 --content v1.34.4   # an image that holds something else
  lab publish v1.34.4 --corrupt           # bytes that differ from SHA256SUMS`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			return c.Publish(cmd.Context(), args[0], options)
		},
	}
	cmd.Flags().StringVar(&options.Content, "content", "", "the version that the image really holds")
	cmd.Flags().BoolVar(&options.Corrupt, "corrupt", false, "serve bytes that differ from what SHA256SUMS promises")
	return cmd
}
