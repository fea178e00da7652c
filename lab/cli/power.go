package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cluster"
)

// nodeCommand returns a command with the name of a node as its argument.
func nodeCommand(where *folders, verb, short string, do func(context.Context, *cluster.Cluster, string) error) *cobra.Command {
	return &cobra.Command{
		Use:     verb + " NODE",
		Short:   short,
		Example: "  lab " + verb + " w1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			return do(cmd.Context(), c, args[0])
		},
	}
}

func rebootCommand(where *folders) *cobra.Command {
	wait := true
	cmd := nodeCommand(where, "reboot", "Reboot a node through its own logind", nil)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := where.open(cmd)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := c.Reboot(cmd.Context(), args[0]); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s has booted again after %s.\n", args[0], time.Since(began).Round(100*time.Millisecond))
		if !wait {
			return nil
		}
		if err := c.WaitReady(cmd.Context(), args[0]); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is Ready after %s.\n", args[0], time.Since(began).Round(100*time.Millisecond))
		return nil
	}
	cmd.Flags().BoolVar(&wait, "wait", true, "wait until the node is Ready")
	return cmd
}

func killCommand(where *folders) *cobra.Command {
	return nodeCommand(where, "kill", "Cut a node's power", func(ctx context.Context, c *cluster.Cluster, name string) error {
		return c.Kill(ctx, name)
	})
}

func startCommand(where *folders) *cobra.Command {
	return nodeCommand(where, "start", "Power a node on", func(ctx context.Context, c *cluster.Cluster, name string) error {
		return c.Start(ctx, name)
	})
}

func partitionCommand(where *folders) *cobra.Command {
	return nodeCommand(where, "partition", "Pull a node's network cable, also over reboots", func(ctx context.Context, c *cluster.Cluster, name string) error {
		return c.Partition(ctx, name)
	})
}

func healCommand(where *folders) *cobra.Command {
	return nodeCommand(where, "heal", "Put a node's network cable back", func(ctx context.Context, c *cluster.Cluster, name string) error {
		return c.Heal(ctx, name)
	})
}
