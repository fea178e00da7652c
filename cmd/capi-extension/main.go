// Command capi-extension answers Cluster API's runtime hooks in a management cluster, so that Cluster
// API upgrades machines in place by kubectl-upgrade.
package main

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/extension"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/program"
)

// version is set when a release is built.
var version string

func main() { program.Run(extension.NewCommand(program.Version(version))) }
