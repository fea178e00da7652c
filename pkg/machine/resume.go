package machine

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// atWork keeps a node as it is while a verb runs on it that the State does not speak
// of: the record of it was lost, or is older. What runs cannot be stopped half-way, so
// the node keeps its slot, and its cordon, until that has ended.
func atWork(s State, o Observation) (State, bool) {
	unknown := func(v verb.Verb, step v1alpha1.Step) bool { return o.Work[v].Running && s.Step != step }
	switch {
	case unknown(verb.Snapshot, v1alpha1.StepSnapshotting):
		return takeUp(s, o, v1alpha1.StepSnapshotting), true
	case unknown(verb.Kubeadm, v1alpha1.StepKubeadm):
		return takeUp(s, o, v1alpha1.StepKubeadm), true
	case unknown(verb.Activate, v1alpha1.StepActivating), unknown(verb.Restart, v1alpha1.StepRestarting):
		return s, true // it ends soon, and what is seen then says how to go on
	}
	return s, false
}

// takeUp enters the step of work that runs. A node that seemed to be in service begins
// the upgrade that is asked for, if there is one.
func takeUp(s State, o Observation, step v1alpha1.Step) State {
	if steps[s.Step] == nil {
		s = s.follow(o)
	}
	return s.enter(step, o)
}

// resume takes up a slot or a mark that the State does not speak of: it was
// lost, or is older than what was done. A node that may have been out of service is
// verified like any other before it is back.
func resume(s State, o Observation) (State, Action) {
	booted := o.Host.Active == expected(s, o) && o.Host.Merged == o.Host.Active
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
	return abort(s, o, v1alpha1.ReasonUpgradeWithdrawn, "the node bore the mark of an upgrade that is not asked for")
}
