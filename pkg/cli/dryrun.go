package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The values of --dry-run, as kubectl has them.
const (
	dryRunNone   = "none"
	dryRunClient = "client" // no server is asked
	dryRunServer = "server" // the server checks, and keeps nothing
)

// dryRun is the flag --dry-run.
type dryRun struct{ mode string }

func (d *dryRun) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.mode, "dry-run", dryRunNone, "client: only print what would be sent, and ask no cluster; server: have it checked and not kept.")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = dryRunClient
}

func (d *dryRun) check() error {
	switch d.mode {
	case dryRunNone, dryRunClient, dryRunServer:
		return nil
	}
	return fmt.Errorf("--dry-run=%s: must be none, client or server", d.mode)
}

// options is what a request to the server says about it.
func (d *dryRun) options() []string {
	if d.mode == dryRunServer {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// String is what kubectl puts behind what it did not do.
func (d dryRun) String() string {
	switch d.mode {
	case dryRunClient:
		return " (dry run)"
	case dryRunServer:
		return " (server dry run)"
	}
	return ""
}
