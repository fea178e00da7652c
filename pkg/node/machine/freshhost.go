package machine

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

const (
	// nextHostAge is how old the host's facts become on a node that goes next.
	nextHostAge = 30 * time.Second
	// settledHostAge is how old they may be when a node has settled.
	settledHostAge = 10 * time.Second
	// lockingHostAge is how old they may be when such a node takes its slot.
	lockingHostAge = time.Minute
)

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// HostSince returns the instant since which the host's facts must have been gathered; the zero
// time if older ones will do. A node that goes next keeps them fresh, so that it need not gather
// them between its release and its cordon. confProblem is the last known problem with the
// configuration: a person may have fixed it.
func HostSince(s State, o Observation, confProblem string) time.Time {
	switch s.Step {
	case v1alpha1.StepLastCheck:
		return s.Since
	case v1alpha1.StepLocking:
		if s.ranKubeadmAhead() {
			return s.Since.Add(-lockingHostAge)
		}
		return s.Since
	case v1alpha1.StepSettling: // they have the kubelet's health
		if end := s.Since.Add(settle(o)); !o.Now.Before(end) {
			return latest(end, o.Now.Add(-settledHostAge))
		}
	case v1alpha1.StepStaging:
		if confProblem != "" {
			return s.Since
		}
	case v1alpha1.StepWaiting:
		if o.Spec.Release == v1alpha1.ReleaseKubeadmAhead {
			return o.Now.Add(-nextHostAge)
		}
	}
	return time.Time{}
}
