package machine

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// NeedsGate reports whether Next needs Observation.Gate.
func NeedsGate(s State, o Observation) bool {
	switch s.Step {
	case v1alpha1.StepLocking, v1alpha1.StepCordoning, v1alpha1.StepDraining, v1alpha1.StepLastCheck:
		return true
	case v1alpha1.StepSnapshotting:
		return !o.Work[verb.Snapshot].Running
	case v1alpha1.StepKubeadm:
		return !o.Work[verb.Kubeadm].Running
	case v1alpha1.StepWaiting, v1alpha1.StepKubeadmAhead:
		return o.Host != nil && !o.Work[verb.Kubeadm].Running && mayRunKubeadmAhead(s, o)
	}
	return false
}

// AwaitsKubelet reports whether Next waits for this boot's kubelet to report.
func AwaitsKubelet(s State, o Observation) bool {
	return s.Step == v1alpha1.StepVerifying && (!kubeletReported(o) || !o.Node.Ready)
}

// NeedsLease reports whether Next needs Observation.Lease: to know whether a Ready node still has
// a kubelet.
func NeedsLease(s State, o Observation) bool {
	switch s.Step {
	case v1alpha1.StepVerifying, v1alpha1.StepSettling:
		return o.Host != nil && isReady(s, o)
	case v1alpha1.StepFailed:
		return o.Host != nil && s.mayReturn() && isReady(s, o)
	case v1alpha1.StepObserving:
		return readyAgain(o)
	}
	return false
}

// NeedsHealth reports whether Next needs Observation.Health: before the slot is freed, in
// both passes, and to recover from ReasonUnhealthy.
func NeedsHealth(s State, o Observation) bool {
	switch s.Step {
	case v1alpha1.StepChecking:
		return true
	case v1alpha1.StepSettling:
		return !o.Now.Before(s.Since.Add(settle(o)))
	case v1alpha1.StepFailed:
		return s.Reason == v1alpha1.ReasonUnhealthy
	}
	return false
}
