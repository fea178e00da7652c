// Package method decides how a node comes to run the image that is active:
// by a reboot, or by a restart of its kubelet alone. The plan expects by it how
// long a node takes, and the node's own steps go by it.
package method

import (
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Of returns the method for a node that is to go from one version to another,
// and why it is not the one that was asked for. blockers are the mounts that a
// refresh of the merged image would break.
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

// sameLine reports whether both are of one minor.
func sameLine(a, b string) bool {
	v, errA := version.Parse(a)
	w, errB := version.Parse(b)
	return errA == nil && errB == nil && v.SameLine(w)
}
