package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cluster"
)

func faultCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:   "fault " + strings.Join(cluster.Faults, "|"),
		Short: "Break the image server, or repair it",
		Long: `Break the image server, or repair it. down answers 503 to all requests, empty
offers nothing, rubbish lists names that are not versions. The index is right, and the
download of each image with slow sends 2 MiB a second, with cut breaks off, and with
stalled stops. none ends all faults.`,
		Example:   "  lab fault down\n  lab fault none",
		Args:      cobra.ExactArgs(1),
		ValidArgs: cluster.Faults,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			return c.Fault(args[0])
		},
	}
}
