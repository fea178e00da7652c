// Command node-agent is the part of kubectl-upgrade that runs on the nodes themselves: the
// verbs that the agent runs through systemd, and the guard. The agent's image has it, and
// the agent installs it on its node.
package main

import (
	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // CA certificates for https sources, for nodes without any

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/program"
)

// version is set when a release is built.
var version string

func main() { program.Run(newCommand()) }

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:          "node-agent",
		Short:        "Upgrade the Kubernetes of a Flatcar node",
		Version:      program.Version(version),
		SilenceUsage: true,
	}
	root.AddCommand(newHostCommand(), newGuardCommand())
	return root
}
