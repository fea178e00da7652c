package watch

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// GoesOn says how an upgrade goes on that is not followed any more, and what a person can do. Nil: there is none.
func GoesOn(u *view.Upgrade) string {
	switch {
	case u == nil:
		return "no upgrade is active"
	case u.Outcome != "":
		return fmt.Sprintf("the upgrade %s has ended: %s", u.Name, u.Outcome)
	case u.Suspended:
		return fmt.Sprintf("the upgrade %s is suspended: `kubectl upgrade resume %s` resumes it", u.Name, u.Name)
	case u.Stalled:
		return fmt.Sprintf("the upgrade %s waits for a person: `kubectl upgrade status` says why", u.Name)
	}
	return fmt.Sprintf("the upgrade %s continues: `kubectl upgrade status -w` follows it, and `kubectl upgrade suspend %s` pauses it", u.Name, u.Name)
}

// Continues reports whether the upgrade goes on by itself.
func Continues(u *view.Upgrade) bool {
	return u != nil && u.Outcome == "" && !u.Suspended && !u.Stalled
}
