package machine

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// rebooted reports whether this upgrade, a Reboot, has rebooted the node. Once is
// all: what asks again right away would have it reboot for ever.
func rebooted(s State, o Observation) bool {
	return o.Spec.Type == v1alpha1.TypeReboot && s.Follows(o.Spec) &&
		s.RebootedFrom != "" && o.Host.BootID != s.RebootedFrom
}

// stillRequired reports whether a Reboot did not bring what it was for.
func stillRequired(s State, o Observation) bool {
	return o.Spec.Type == v1alpha1.TypeReboot && s.Follows(o.Spec) && o.Host.RebootRequired
}

// wouldActivate reports whether a Reboot would start another Kubernetes than runs:
// it is not for that.
func wouldActivate(o Observation) bool {
	return o.Spec.Type == v1alpha1.TypeReboot && o.Host != nil &&
		o.Host.Merged != "" && o.Host.Active != o.Host.Merged
}

func nextBoot(o Observation) string {
	return fmt.Sprintf("%s runs, and the next boot would bring %s: a Reboot changes no version; ask for an upgrade, or point the symlink back", o.Host.Merged, o.Host.Active)
}
