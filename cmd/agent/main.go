// Command agent runs on every node: it upgrades its node when the coordinator releases it.
// Its memory is needed on every node, so it links only what it needs all the time; work on
// the host is in the program node-agent.
package main

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/agent"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/program"
)

// version is set when a release is built.
var version string

func main() { program.Run(agent.NewCommand(program.Version(version))) }
