// Package method decides how a node starts its active image: by a reboot, or by a restart
// of its kubelet alone. The plan estimates a node's duration with it, and package machine
// chooses a node's steps.
package method

import (
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Of returns the method for a node's upgrade between two versions, and why it differs from
// the requested one, if it does. blockers are the mounts that a refresh of the merged image
// would break.
func Of(asked v1alpha1.Method, kind v1alpha1.UpgradeType, from, to string, blockers []string) (m v1alpha1.Method, why string) {
	switch {
	case asked != v1alpha1.MethodRestart || kind == v1alpha1.TypeReboot:
		return v1alpha1.MethodReboot, ""
	case kind != v1alpha1.TypePatch || !sameLine(from, to):
		return v1alpha1.MethodReboot, "Restart is for patches"
	case len(blockers) > 0:
		return v1alpha1.MethodReboot, "a refresh of the merged image would break what is mounted at " + strings.Join(blockers, ", ")
	}
	return v1alpha1.MethodRestart, ""
}

// sameLine reports whether both versions are of one minor.
func sameLine(a, b string) bool {
	v, errA := version.Parse(a)
	w, errB := version.Parse(b)
	return errA == nil && errB == nil && v.SameLine(w)
}
