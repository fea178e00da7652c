package machine

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// atWork keeps a node as it is while a verb runs on it that the State does not speak
// of: the record of it was lost, or is older. What runs cannot be stopped half-way, so
// the node keeps its slot, and its cordon, until that has ended.
func atWork(s State, o Observation) (State, bool) {
	for v, step := range map[verb.Verb]v1alpha1.Step{
		verb.Snapshot: v1alpha1.StepSnapshotting, verb.Kubeadm: v1alpha1.StepKubeadm,
		verb.Activate: v1alpha1.StepActivating, verb.Restart: v1alpha1.StepRestarting,
	} {
		switch {
		case !o.Work[v].Running || s.Step == step:
		case v == verb.Snapshot || v == verb.Kubeadm:
			if steps[s.Step] == nil {
				s = s.follow(o)
			}
			return s.enter(step, o).say(v1alpha1.ReasonReleased, string(v)+" is running, which was begun before"), true
		default:
			return s, true // it ends soon, and what is seen then says how to go on
		}
	}
	return s, false
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
