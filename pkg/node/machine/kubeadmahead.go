package machine

import (
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// mayRunKubeadmAhead reports whether kubeadm may run on this worker before it has a slot. It
// disturbs no pod: it writes files that the next kubelet reads. It runs once; if it fails, it
// runs again when the node has its slot.
func mayRunKubeadmAhead(s State, o Observation) bool {
	return s.Follows(o.Spec) && o.Spec.Release == v1alpha1.ReleaseKubeadmAhead && o.Managed &&
		!o.Host.ControlPlane && Staged(o) && !kubeadmDone(o) && !o.Work[verb.Kubeadm].ended(attemptKey(s, o))
}

// waitingToRunAhead waits for an open gate before kubeadm runs ahead of the node's turn.
func waitingToRunAhead(s State, o Observation) (State, Action) {
	if !o.Gate.Open {
		return s.withReason(o.Gate.Reason, o.Gate.Message).withUntil(o.Gate.Until), wait(o.Now.Add(gateRound))
	}
	return runsAhead(s.enter(v1alpha1.StepKubeadmAhead, o)), Action{}
}

// runsAhead returns s with the reason that is shown while kubeadm runs ahead.
func runsAhead(s State) State {
	return s.withReason(v1alpha1.ReasonReleased, "runs kubeadm ahead of its turn")
}

// kubeadmAhead runs kubeadm while the node is in service. Once started, it is never
// interrupted.
func kubeadmAhead(s State, o Observation) (State, Action) {
	switch {
	case !mayRunKubeadmAhead(s, o), o.Gate != nil && !o.Gate.Open:
		return betweenAttempts(s.enter(v1alpha1.StepWaiting, o), o)
	case o.Gate == nil:
		return s, Action{}
	}
	return start(s, o, verb.Kubeadm, attemptKey(s, o))
}

// ranKubeadmAhead reports whether the node has run kubeadm ahead of its turn in this upgrade.
func (s State) ranKubeadmAhead() bool {
	return slices.ContainsFunc(s.Steps, func(t StepTime) bool { return t.Step == v1alpha1.StepKubeadmAhead })
}
