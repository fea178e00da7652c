package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
)

func containerdCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:   "containerd NODE MAJOR",
		Short: "Give a node containerd 1 or 2 with its next boot",
		Long: `Give a node containerd 1 or 2 with its next boot. The sysext image is put on the
node, /etc/extensions/containerd.raw points at it, and the node asks for a
reboot with /run/reboot-required.`,
		Example: `  lab containerd w1 2
  kubectl drain w1 --ignore-daemonsets && lab reboot w1 && kubectl uncordon w1`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			major, err := strconv.Atoi(args[1])
			if err != nil || major < 1 || major > 2 {
				return fmt.Errorf("%q is not a major version of containerd: it is 1 or 2", args[1])
			}
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			if err := c.SetContainerd(cmd.Context(), args[0], major); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s has containerd %d from its next boot on: lab reboot %s\n", args[0], major, args[0])
			return nil
		},
	}
}
