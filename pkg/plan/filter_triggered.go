package plan

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"

// notTriggered holds every node while nothing of the upgrade can begin: trigger.go
// says why.
func notTriggered(c *cluster, _ *node) fleet.Hold { return c.target.hold }
