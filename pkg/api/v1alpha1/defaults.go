package v1alpha1

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// DefaultStrategy returns the values of fields that neither the ClusterUpgrade nor the
// UpgradePolicy sets.
func DefaultStrategy() Strategy {
	return Strategy{
		Method:         MethodReboot,
		MaxUnavailable: ptr.To(intstr.FromInt32(1)),
		MaxFailures:    ptr.To[int32](0),
		Approval:       ApprovalNotRequired,
		Pace: Pace{
			SettleSeconds:   ptr.To[int32](20),
			MinReadySeconds: ptr.To[int32](100),
			GuardSeconds:    ptr.To[int32](180),
			Whole: Whole{
				TimeoutSeconds: ptr.To[int32](300),
				Resources:      PartWait,
				Drivers:        PartWait,
				DaemonSets:     PartWait,
				Extensions:     PartWait,
				Taints:         PartWait,
				Network:        PartWait,
			},
			Drain: Drain{
				TimeoutSeconds:         ptr.To[int32](900),
				OnTimeout:              OnTimeoutAbort,
				VolumesDetachedSeconds: ptr.To[int32](0),
				GracePeriodSeconds:     ptr.To[int32](-1),
				UnmanagedPods:          PodsBlock,
				EmptyDirPods:           PodsEvict,
				DoNotDisruptSeconds:    ptr.To[int32](300),
			},
		},
		CordonedNodes:      CordonedIgnore,
		EtcdSnapshotPolicy: EtcdSnapshotRequired,
	}
}

// Or returns s with each field that it leaves out taken from other.
func (s Strategy) Or(other Strategy) Strategy {
	s.Method = cmp.Or(s.Method, other.Method)
	s.MaxUnavailable = cmp.Or(s.MaxUnavailable, other.MaxUnavailable)
	s.MaxFailures = cmp.Or(s.MaxFailures, other.MaxFailures)
	s.CordonedNodes = cmp.Or(s.CordonedNodes, other.CordonedNodes)
	s.Approval = cmp.Or(s.Approval, other.Approval)
	if s.Groups == nil {
		s.Groups = other.Groups
	}
	s.Pace = s.Pace.Or(other.Pace)
	s.EtcdSnapshotPolicy = cmp.Or(s.EtcdSnapshotPolicy, other.EtcdSnapshotPolicy)
	return s
}

// Or returns p with each field that it leaves out taken from other.
func (p Pace) Or(other Pace) Pace {
	p.SettleSeconds = cmp.Or(p.SettleSeconds, other.SettleSeconds)
	p.MinReadySeconds = cmp.Or(p.MinReadySeconds, other.MinReadySeconds)
	p.GuardSeconds = cmp.Or(p.GuardSeconds, other.GuardSeconds)
	p.Whole = p.Whole.Or(other.Whole)
	p.Drain = p.Drain.Or(other.Drain)
	return p
}

// Or returns w with each field that it leaves out taken from other.
func (w Whole) Or(other Whole) Whole {
	w.TimeoutSeconds = cmp.Or(w.TimeoutSeconds, other.TimeoutSeconds)
	w.Resources = cmp.Or(w.Resources, other.Resources)
	w.Drivers = cmp.Or(w.Drivers, other.Drivers)
	w.DaemonSets = cmp.Or(w.DaemonSets, other.DaemonSets)
	w.Extensions = cmp.Or(w.Extensions, other.Extensions)
	w.Taints = cmp.Or(w.Taints, other.Taints)
	w.Network = cmp.Or(w.Network, other.Network)
	return w
}

// Or returns d with each field that it leaves out taken from other.
func (d Drain) Or(other Drain) Drain {
	d.TimeoutSeconds = cmp.Or(d.TimeoutSeconds, other.TimeoutSeconds)
	d.OnTimeout = cmp.Or(d.OnTimeout, other.OnTimeout)
	d.VolumesDetachedSeconds = cmp.Or(d.VolumesDetachedSeconds, other.VolumesDetachedSeconds)
	d.GracePeriodSeconds = cmp.Or(d.GracePeriodSeconds, other.GracePeriodSeconds)
	d.UnmanagedPods = cmp.Or(d.UnmanagedPods, other.UnmanagedPods)
	d.EmptyDirPods = cmp.Or(d.EmptyDirPods, other.EmptyDirPods)
	d.DoNotDisruptSeconds = cmp.Or(d.DoNotDisruptSeconds, other.DoNotDisruptSeconds)
	if d.Rules == nil {
		d.Rules = other.Rules
	}
	return d
}

// Resolve returns the strategy of an upgrade: its own fields, then the policy's,
// then the defaults. Every field of the result is set.
// An approval that the policy requires stays required; groups that replace others with approvals need
// the approval of the whole upgrade.
func (u *ClusterUpgrade) Resolve(policy Strategy) Strategy {
	own := u.Spec.Strategy
	approval := func(g NodeGroup) bool { return g.Approval == ApprovalRequired }
	if policy.Approval == ApprovalRequired || own.Groups != nil && slices.ContainsFunc(policy.Groups, approval) {
		own.Approval = ApprovalRequired
	}
	return own.Or(policy).Or(DefaultStrategy())
}
