package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// withDefaults fills in what the API server would: for upgrades that never went
// through one, and so that what the planner wants can be compared with what is
// stored.
func withDefaults(s v1alpha1.Strategy) v1alpha1.Strategy {
	if s.Method == "" {
		s.Method = v1alpha1.MethodReboot
	}
	if s.MaxUnavailable == nil {
		one := intstr.FromInt32(1)
		s.MaxUnavailable = &one
	}
	if s.Settle == nil {
		s.Settle = &metav1.Duration{Duration: 2 * time.Minute}
	}
	if s.EtcdSnapshot == "" {
		s.EtcdSnapshot = v1alpha1.EtcdSnapshotRequired
	}
	s.Drain = drainDefaults(s.Drain)
	return s
}

func drainDefaults(d v1alpha1.Drain) v1alpha1.Drain {
	if d.Timeout == nil {
		d.Timeout = &metav1.Duration{Duration: 15 * time.Minute}
	}
	if d.OnTimeout == "" {
		d.OnTimeout = v1alpha1.OnTimeoutAbort
	}
	if d.GracePeriodSeconds == nil {
		own := int32(-1)
		d.GracePeriodSeconds = &own
	}
	return d
}
