package machine

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// rebooted reports whether this upgrade, a Reboot, has rebooted the node. It does so
// once: an operating system that keeps requiring a reboot would otherwise get one for ever.
func rebooted(s State, o Observation) bool {
	return o.Spec.Type == v1alpha1.TypeReboot && s.Follows(o.Spec) &&
		s.RebootedFrom != "" && o.Host.BootID != s.RebootedFrom
}

// rebootStillRequired reports whether the operating system still requires a reboot after
// this upgrade's own.
func rebootStillRequired(s State, o Observation) bool {
	return o.Spec.Type == v1alpha1.TypeReboot && s.Follows(o.Spec) && o.Host.RebootRequired
}

// wouldActivate reports whether a Reboot would change the Kubernetes version, which it
// must not.
func wouldActivate(o Observation) bool {
	return o.Spec.Type == v1alpha1.TypeReboot && o.Host != nil &&
		o.Host.Active != "" && o.Host.Merged != "" && o.Host.Active != o.Host.Merged
}

func nextBootMessage(o Observation) string {
	return fmt.Sprintf("%s runs, and the next boot would bring %s: an upgrade of type Reboot must not change the version; request an upgrade to that version, or point /etc/extensions/kubernetes.raw back", o.Host.Merged, o.Host.Active)
}
