// Command coordinator decides for the whole cluster when each node is upgraded.
package main

import (
	_ "golang.org/x/crypto/x509roots/fallback" // CA certificates for https sources

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/coordinator"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/program"
)

// version is set when a release is built.
var version string

func main() { program.Run(coordinator.NewCommand(program.Version(version))) }
