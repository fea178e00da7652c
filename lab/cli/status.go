package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cluster"
)

func statusCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the nodes and what the bridge offers them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			status, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			return writeStatus(cmd.OutOrStdout(), status)
		},
	}
}

func writeStatus(out io.Writer, status cluster.Status) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NODE\tADDRESS\tMACHINE\tKUBERNETES\tKUBELET\tCONTAINERD\tMEMORY")
	for _, node := range status.Nodes {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", node.Name, node.Address, machineState(node), memberState(status, node), orDash(node.Kubelet), orDash(node.Containerd), memory(node))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	var offers []string
	for _, offer := range status.Offers {
		offers = append(offers, "v"+offer.Version)
	}
	fmt.Fprintf(out, "\nBase: Debian %s, systemd %s\n", status.Spec.Base, orDash(status.Systemd))
	fmt.Fprintf(out, "Offered: %s\n", orDash(strings.Join(offers, ", ")))
	if !status.Serving {
		fmt.Fprintln(out, "The image server, registry and balancer are down: `lab up` starts them.")
	}
	if !status.Complete {
		fmt.Fprintln(out, "The lab is not complete: `lab up` goes on.")
	}
	if status.APIError != nil {
		fmt.Fprintf(out, "The API does not answer: %v\n", status.APIError)
	}
	return nil
}

func machineState(node cluster.NodeStatus) string {
	switch {
	case !node.On:
		return "off"
	case node.Partitioned:
		return "partitioned"
	case node.BootID == "":
		return "rebooting"
	}
	return "on"
}

func memberState(status cluster.Status, node cluster.NodeStatus) string {
	if status.APIError != nil {
		return "unknown"
	}
	state := "NotReady"
	switch {
	case node.Kubelet == "":
		return "-"
	case node.Ready:
		state = "Ready"
	}
	if node.Unschedulable {
		state += ",cordoned"
	}
	return state
}

func memory(node cluster.NodeStatus) string {
	if !node.On {
		return "-"
	}
	return fmt.Sprintf("%d MiB", node.Memory>>20)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
