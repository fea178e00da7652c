package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The values of --dry-run, which are kubectl's.
const (
	dryRunNone   = "none"
	dryRunClient = "client" // nothing is sent
	dryRunServer = "server" // the server checks it, and stores nothing
)

// dryRun is the flag --dry-run.
type dryRun struct{ mode string }

func (d *dryRun) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.mode, "dry-run", dryRunNone, "Must be none, client (only print the object, without contacting the cluster) or server (let the API server validate the object without storing it).")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = dryRunClient
}

// check checks the flag.
func (d *dryRun) check() error {
	switch d.mode {
	case dryRunNone, dryRunClient, dryRunServer:
		return nil
	}
	return fmt.Errorf("--dry-run=%s: must be none, client or server", d.mode)
}

// options returns the value for the option DryRun of a request to the API server.
func (d *dryRun) options() []string {
	if d.mode == dryRunServer {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// String returns what kubectl appends to a message about a dry run.
func (d dryRun) String() string {
	switch d.mode {
	case dryRunClient:
		return " (dry run)"
	case dryRunServer:
		return " (server dry run)"
	}
	return ""
}
