// Program lab makes a real Kubernetes cluster of Flatcar-like nodes on one
// machine, to try upgrades on.
package main

import (
	"os"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
