package clusterstate

import (
	"cmp"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// MethodHost is what a node's method depends on.
type MethodHost struct {
	// RefreshBlockers are the mounts that a refresh of the merged image would break.
	RefreshBlockers []string
	// SoftRebootBlocker is why the node cannot be soft-rebooted. Empty: it can.
	SoftRebootBlocker string
	// RebootRequired reports whether the operating system requires a reboot, and
	// RebootReason why.
	RebootRequired bool
	RebootReason   string
}

// MethodOf returns the method for a node's upgrade between two versions, and why it differs from
// the requested one, if it does.
func MethodOf(asked v1alpha1.Method, kind v1alpha1.UpgradeType, from, to string, h MethodHost) (m v1alpha1.Method, why string) {
	switch {
	case kind == v1alpha1.TypeReboot:
		return v1alpha1.MethodReboot, ""
	case asked == v1alpha1.MethodRestart:
		why = noRestart(kind, from, to, h)
	case asked == v1alpha1.MethodSoftReboot:
		why = noSoftReboot(h)
	default:
		return v1alpha1.MethodReboot, ""
	}
	if why != "" {
		return v1alpha1.MethodReboot, why
	}
	return asked, ""
}

func noRestart(kind v1alpha1.UpgradeType, from, to string, h MethodHost) string {
	switch {
	case kind != v1alpha1.TypePatch || !sameLine(from, to):
		return "Restart is for patches"
	case len(h.RefreshBlockers) > 0:
		return "a refresh of the merged image would break what is mounted at " + strings.Join(h.RefreshBlockers, ", ")
	}
	return ""
}

// noSoftReboot returns why a node does not soft-reboot. As it is drained anyway, it reboots
// if its operating system asks for that.
func noSoftReboot(h MethodHost) string {
	if h.RebootRequired {
		return cmp.Or(h.RebootReason, "the operating system asks for a reboot")
	}
	return h.SoftRebootBlocker
}

// sameLine reports whether both versions are of one minor.
func sameLine(a, b string) bool {
	v, errA := version.Parse(a)
	w, errB := version.Parse(b)
	return errA == nil && errB == nil && v.SameLine(w)
}

// Majority returns how many of etcd's voting members have to be healthy for it to
// accept writes.
func Majority(members int) int { return members/2 + 1 }
