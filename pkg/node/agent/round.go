package agent

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// round is one look at the node, and what is learned until its action is done.
type round struct {
	machine.Observation
	state machine.State         // the node's
	node  *corev1.Node          // nil: there is none
	order *v1alpha1.NodeUpgrade // nil: there is none
	// controlPlane reports whether the node belongs to the control plane.
	controlPlane bool
	// answer is what the API server answered to the status of this round. Nil: none was written.
	answer *v1alpha1.NodeUpgrade
	// onlyLooks is true if the pods have gone that the last round evicted: this one evicts nothing.
	onlyLooks bool
	// wantsEtcd is true if an answer of etcd is needed.
	wantsEtcd bool
}

// observe looks at the node. What cannot be read is left out. open is the last open answer of the rules in this
// reconcile. observe returns an error if nothing may be decided.
func (a *Agent) observe(ctx context.Context, open *openRules) (*round, error) {
	r := &round{state: a.state, node: a.kubelet.node()}
	r.Now, r.WatchingSince = a.Now(), a.started
	if r.node != nil {
		r.Node = nodeOf(r.node)
	}
	r.controlPlane = onControlPlane(r.node, a.host.seen.facts) // of before this round
	a.report.add(r)
	a.drain.add(r)
	if err := a.slots.add(ctx, r); err != nil {
		return r, err
	}
	a.host.add(ctx, r)
	r.controlPlane = onControlPlane(r.node, a.host.seen.facts)
	a.kubelet.add(ctx, r)
	a.whole.addParts(ctx, r)
	if r.node != nil && machine.NeedsRules(a.state, r.Observation) {
		r.Rules = a.askRules(ctx, r, open)
	}
	a.etcd.add(ctx, r)
	a.whole.add(ctx, r)
	return r, nil
}

// onControlPlane reports whether a node belongs to the control plane, as the plan decides it: by the Node's label,
// or by a kube-apiserver among the host's own manifests. Both may be nil.
func onControlPlane(node *corev1.Node, facts *verb.HostFacts) bool {
	return node != nil && clusterstate.HasControlPlaneLabel(node.Labels) || facts != nil && facts.ControlPlane
}

// openRules is the rules' last answer in this reconcile, if they were open.
type openRules struct {
	at   time.Time // by the wall clock, which does not stop with the machine; zero: they were not open
	spec v1alpha1.NodeUpgradeSpec
}

// counts reports whether the answer still counts: it was read just now, for the same order.
func (o openRules) counts(r *round) bool {
	age := r.Now.Round(0).Sub(o.at)
	return !o.at.IsZero() && age >= 0 && age < answerCounts && equality.Semantic.DeepEqual(o.spec, r.Spec)
}

// askRules returns the rules' answer, or nil if they are not to be asked yet. They need etcd's health from the
// host, except on a worker that drains. During a drain they are asked before each round of evictions.
func (a *Agent) askRules(ctx context.Context, r *round, open *openRules) *clusterstate.Hold {
	draining := r.state.Step == v1alpha1.StepDraining
	r.onlyLooks = draining && a.drain.pods.gone(a.drain.ending)
	switch {
	case r.onlyLooks:
		return &clusterstate.Hold{} // nothing is evicted, and the last check asks
	case draining && !a.drain.roundDue(r.Now):
		return nil
	case beginsToDisrupt(r.state.Step, a.drain.drained) && open.counts(r):
		return &clusterstate.Hold{}
	case r.Host == nil && (!draining || r.controlPlane):
		return nil
	case r.Host != nil && !a.etcd.check(ctx, r, time.Time{}):
		return nil
	}
	q := &question{round: r, config: &a.Config, etcd: a.etcd}
	hold := q.ask(ctx)
	a.host.stageAgain = a.host.stageAgain || q.stageAgain
	a.drain.daemonSets = q.daemonSets
	if *open = (openRules{}); !hold.Holds() {
		*open = openRules{at: r.Now.Round(0), spec: r.Spec}
	}
	return &hold
}

// beginsToDisrupt reports whether the node is between its slot and the first eviction. If nothing is
// waited for there, all of it is done in one reconcile, and the rules' answer before the slot counts.
func beginsToDisrupt(step v1alpha1.Step, drained *machine.Drain) bool {
	switch step {
	case v1alpha1.StepSnapshotting, v1alpha1.StepKubeadm, v1alpha1.StepCordoning:
		return true
	}
	return step == v1alpha1.StepDraining && drained == nil
}
