package cluster

import (
	"errors"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/serve"
)

// Faults are the ways in which the image server itself can be broken.
var Faults = []string{"none", "down", "empty", "rubbish"}

// rubbish lists what is no version, and what is no list at all.
const rubbish = `1111111111111111111111111111111111111111111111111111111111111111  kubernetes-latest-x86-64.raw
<html><body>404 page not found</body></html>
`

// Fault breaks the image server in one way, and mends every other; "none" mends
// it altogether.
func (c *Cluster) Fault(fault string) error {
	dir := c.ServeDir()
	if err := errors.Join(serve.Down(dir, fault == "down"), serve.ResetIndex(dir)); err != nil {
		return err
	}
	switch fault {
	case "none", "down":
		return nil
	case "empty":
		return serve.Index(dir, "")
	case "rubbish":
		return serve.Index(dir, rubbish)
	}
	return fmt.Errorf("%q is no fault: they are %q", fault, Faults)
}
