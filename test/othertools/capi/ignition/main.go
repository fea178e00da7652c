// The program ignition reads an additionalConfig on standard input, and writes the Ignition
// configuration of a machine that Cluster API creates with it:
// KUBERNETES_VERSION=v1.34.4 ignition <additionalConfig
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/othertools/capi"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	snippet, err := io.ReadAll(os.Stdin)
	if err != nil {
		return fmt.Errorf("reading the snippet: %w", err)
	}
	rendered, err := capi.Render(string(snippet), os.Getenv("KUBERNETES_VERSION"))
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(rendered)
	return err
}
