package coordinator

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Each plan compares the order and the condition of every node with those that are stored, and almost all
// are the same. By reflection that would take longer than the plan itself.

// sameOrder reports whether two orders are the same.
func sameOrder(a, b *v1alpha1.NodeUpgradeSpec) bool {
	return a.Managed == b.Managed && a.Type == b.Type && a.Version == b.Version && a.Release == b.Release && a.Slot == b.Slot &&
		a.Kubeadm == b.Kubeadm && a.EtcdSnapshotPolicy == b.EtcdSnapshotPolicy && a.HoldAfter == b.HoldAfter &&
		a.FromBootID == b.FromBootID && a.Method == b.Method &&
		ptr.Equal(a.Upgrade, b.Upgrade) && ptr.Equal(a.Image, b.Image) && ptr.Equal(a.ExpectedSeconds, b.ExpectedSeconds) &&
		samePace(&a.Pace, &b.Pace)
}

func samePace(a, b *v1alpha1.Pace) bool {
	return ptr.Equal(a.SettleSeconds, b.SettleSeconds) && ptr.Equal(a.MinReadySeconds, b.MinReadySeconds) &&
		ptr.Equal(a.GuardSeconds, b.GuardSeconds) && sameWhole(a.Whole, b.Whole) && sameDrain(&a.Drain, &b.Drain)
}

func sameWhole(a, b v1alpha1.Whole) bool {
	same := ptr.Equal(a.TimeoutSeconds, b.TimeoutSeconds)
	a.TimeoutSeconds, b.TimeoutSeconds = nil, nil
	return same && a == b
}

func sameDrain(a, b *v1alpha1.Drain) bool {
	return ptr.Equal(a.TimeoutSeconds, b.TimeoutSeconds) && ptr.Equal(a.VolumesDetachedSeconds, b.VolumesDetachedSeconds) &&
		ptr.Equal(a.GracePeriodSeconds, b.GracePeriodSeconds) && ptr.Equal(a.DoNotDisruptSeconds, b.DoNotDisruptSeconds) &&
		a.OnTimeout == b.OnTimeout && a.UnmanagedPods == b.UnmanagedPods && a.EmptyDirPods == b.EmptyDirPods &&
		slices.EqualFunc(a.Rules, b.Rules, sameRule)
}

func sameRule(a, b v1alpha1.DrainRule) bool {
	return a.Name == b.Name && a.Behavior == b.Behavior && slices.Equal(a.Namespaces, b.Namespaces) &&
		maps.Equal(a.PodSelector.MatchLabels, b.PodSelector.MatchLabels) &&
		slices.EqualFunc(a.PodSelector.MatchExpressions, b.PodSelector.MatchExpressions, sameRequirement)
}

func sameRequirement(a, b v1alpha1.LabelRequirement) bool {
	return a.Key == b.Key && a.Operator == b.Operator && slices.Equal(a.Values, b.Values)
}

// admitted is the coordinator's part of a NodeUpgrade's status.
type admitted struct {
	condition *metav1.Condition // Admitted. Nil: there is none
	until     *metav1.Time      // when its reason ends. Nil: that is not known
}

// sameAdmitted reports whether two parts are the same.
func sameAdmitted(a, b admitted) bool {
	if a.condition == nil || b.condition == nil {
		return a.condition == b.condition && a.until.Equal(b.until)
	}
	return sameCondition(*a.condition, *b.condition) && a.until.Equal(b.until)
}

// sameCondition reports whether two conditions are the same. Equal times may differ in their zones.
func sameCondition(a, b metav1.Condition) bool {
	if !a.LastTransitionTime.Equal(&b.LastTransitionTime) {
		return false
	}
	a.LastTransitionTime = b.LastTransitionTime
	return a == b
}
