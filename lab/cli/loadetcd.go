package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cluster"
)

func loadEtcdCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:   "load-etcd VERSION",
		Short: "Put another version of etcd on the lab's registry",
		Long: `Put another version of etcd on the lab's registry than those that kubeadm names.
kubeadm uses it when etcd.local.imageTag in ClusterConfiguration names it.`,
		Example: "  lab load-etcd 3.5.35   # imageTag: 3.5.35-0",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cluster.CheckEtcdVersion(args[0]); err != nil {
				return err
			}
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			ref, err := c.LoadEtcd(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The registry has %s.\n", ref)
			return nil
		},
	}
}
