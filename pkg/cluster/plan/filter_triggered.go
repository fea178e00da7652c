package plan

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"

// notTriggered holds every node while the upgrade cannot be triggered; see trigger.go.
func notTriggered(c *cluster, _ *node) fleet.Hold { return c.target.hold }
