package machine

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// verbRunning reports whether a verb runs that the State does not mention, because the
// status was lost or is older. The verb cannot be interrupted, so the node keeps its slot
// and cordon until it ends.
func verbRunning(s State, o Observation) (State, bool) {
	unknown := func(v verb.Verb, step v1alpha1.Step) bool { return o.Work[v].Running && s.Step != step }
	switch {
	case unknown(verb.Snapshot, v1alpha1.StepSnapshotting):
		return resumeStep(s, o, v1alpha1.StepSnapshotting), true
	case unknown(verb.Kubeadm, v1alpha1.StepKubeadm) && workerWithoutSlot(o):
		return runsAhead(resumeStep(s, o, v1alpha1.StepKubeadmAhead)), true
	case unknown(verb.Kubeadm, v1alpha1.StepKubeadm):
		return resumeStep(s, o, v1alpha1.StepKubeadm), true
	case unknown(verb.Activate, v1alpha1.StepActivating), unknown(verb.Restart, v1alpha1.StepRestarting):
		return s, true // it ends soon; the next observation decides how to go on
	}
	return s, false
}

// workerWithoutSlot reports whether this is a worker that holds no slot: kubeadm runs there
// ahead of the node's turn, whatever the Node's annotations say.
func workerWithoutSlot(o Observation) bool {
	return o.Slot.Held == "" && (o.Host == nil || !o.Host.ControlPlane)
}

// resumeStep enters the step of a running verb. If the State is between attempts, it
// switches to the requested upgrade first.
func resumeStep(s State, o Observation, step v1alpha1.Step) State {
	if steps[s.Step] == nil {
		s = s.switchUpgrade(o)
	}
	return s.enter(step, o)
}

// resume handles a slot or a mark that the State does not mention, because the status was
// lost or is older. A node that may have been out of service is verified before it is
// uncordoned.
func resume(s State, o Observation) (State, Action) {
	booted := nextBoot(o) == expectedVersion(s, o) && (o.Host.Active == "" || o.Host.Merged == o.Host.Active)
	mayGoOn := o.Slot.Held != "" && !withdrawn(s, o)
	switch {
	case o.Spec.Type == v1alpha1.TypeReboot && o.Host.RebootRequired && mayGoOn:
		return s.enter(v1alpha1.StepLocking, o), Action{}
	case booted && (o.Node.Marked() || !mayGoOn):
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	case mayGoOn:
		return s.enter(v1alpha1.StepLocking, o), Action{}
	case !o.Node.Marked() && kubeadmDone(o):
		return s.enter(v1alpha1.StepChecking, o), Action{}
	}
	return abort(s, o, v1alpha1.ReasonUpgradeWithdrawn, "the node was cordoned by an upgrade that is no longer requested")
}
