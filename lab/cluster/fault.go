package cluster

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/serve"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
)

// Faults are the ways in which the image server itself can be broken.
var Faults = append([]string{"none", "down", "empty", "rubbish", "wrong-signature"}, serve.Transfers...)

// rubbish has lines with names that are not versions, and lines that are not
// entries.
var rubbish = strings.Repeat("1", 64) + "  " + image.Name("latest", runtime.GOARCH) + `
<html><body>404 page not found</body></html>
`

// Fault breaks the image server in one way and ends any other fault; "none" ends
// all faults.
func (c *Cluster) Fault(fault string) error {
	dir := c.ServeDir()
	if err := errors.Join(serve.Down(dir, fault == "down"), serve.ResetIndex(dir), serve.Sign(dir, ""), serve.SetTransfer(dir, "")); err != nil {
		return err
	}
	switch fault {
	case "none", "down":
		return nil
	case "empty":
		return serve.Index(dir, "")
	case "rubbish":
		return serve.Index(dir, rubbish)
	case "wrong-signature":
		return serve.Sign(dir, "no key has signed this\n")
	}
	if slices.Contains(serve.Transfers, fault) {
		return serve.SetTransfer(dir, fault)
	}
	return fmt.Errorf("%q is not a fault: use one of %q", fault, Faults)
}
