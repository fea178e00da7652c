package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

const fieldManager = "node-agent"

var errNoNodeUpgrade = errors.New("the coordinator has not created a NodeUpgrade for this node yet")

// reportSense knows the node's order, and what this agent has written of the node.
type reportSense struct {
	*Config
	host *hostSense
	etcd *etcdSense

	nodeUpgrades, inventories cache.SharedIndexInformer

	last       writtenStatus
	changedAt  time.Time // when the status began to differ from the last one; zero: it does not
	generation int64     // of the NodeUpgrade that the state is for
	failing    failedWrite
	refused    map[string]string // what the API server answered to a report in an object of that kind, if it refused
	answer     error             // to the last write of the status
	accepted   bool              // a status of this agent was written
	// refusedSince is since when no status was written because the API server refused it; zero: it did not.
	refusedSince time.Time
	inventory    inventoryView
	// statusLacks and inventoryLacks are the fields that the CRDs do not have.
	statusLacks, inventoryLacks leftOut
	ready                       func() // calls Config.Ready the first time
}

func (p *reportSense) watch(wakeUp func()) {
	p.nodeUpgrades = p.Upgrades.NodeUpgrades.Informer(p.Node)
	p.inventories = p.Upgrades.NodeInventories.Informer(p.Node)
	watched(p.nodeUpgrades, wakeUp)
	watched(p.inventories, wakeUp)
}

// add adds the node's order, from the watch. Its first list may be older than the Node, and have the NodeUpgrade of
// a former Node of this name.
func (p *reportSense) add(r *round) {
	order := one[*v1alpha1.NodeUpgrade](p.nodeUpgrades)
	if order == nil || ofFormerNode(order, r.node) {
		return
	}
	r.order = order
	r.Managed, r.GiveBack, r.Spec = order.Spec.Managed, !order.Spec.Managed, order.Spec
}

// writtenStatus is the status that this agent wrote last, and to which object.
type writtenStatus struct {
	uid    types.UID
	sent   v1alpha1.NodeUpgradeStatus
	status v1alpha1.NodeUpgradeStatus // as the API server stored it
	at     time.Time
	took   time.Duration
}

// overwriteAfter is how long the watch may take to show what was written.
const overwriteAfter = 10 * time.Second

// overwritten reports whether the NodeUpgrade differs from what the API server stored for
// this agent a while ago. The node's former agent may have written last, a write that timed
// out may have arrived late, or etcd was restored. The coordinator would act on old status.
func (w writtenStatus) overwritten(nu *v1alpha1.NodeUpgrade, now time.Time) bool {
	return now.Sub(w.at) >= overwriteAfter && !equality.Semantic.DeepEqual(agentsPart(nu.Status), agentsPart(w.status))
}

// agentsPart returns what the agent owns of a NodeUpgrade's status.
func agentsPart(s v1alpha1.NodeUpgradeStatus) v1alpha1.NodeUpgradeStatus {
	s.HoldEndTime = nil
	s.Conditions = slices.DeleteFunc(slices.Clone(s.Conditions), func(c metav1.Condition) bool {
		return c.Type == v1alpha1.ConditionAdmitted
	})
	slices.SortFunc(s.Conditions, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	return s
}

// A change for which no other program waits is written once it has lasted for writeWithin, or as many times as
// long as the last write took: an API server with too much to do gets fewer writes. Steps that only pass are
// written with the next one.
const (
	writeWithin   = 2 * time.Second
	writeAtLatest = 5 * time.Second
	writeRatio    = 10
)

// writesWithin returns how soon such a change is written.
func (p *reportSense) writesWithin() time.Duration {
	return min(max(writeWithin, writeRatio*p.last.took), writeAtLatest)
}

// answerCounts is how long an answer of the API server counts for what follows in the same reconcile.
const answerCounts = time.Second

// mayWriteLater reports whether the status need not be written before the action. The coordinator waits for
// what a node says between attempts, or once it has failed. It does not wait for what a node says while it works
// in service. Some actions are only repeated if the agent crashes before the status is written: the cordon, and
// rounds of evictions; the end of the cordon, and of the guard's watch, after any step of a node that comes back.
// A node that is cordoned though its status still says Locking begins its attempt again. One that must be the only
// one writes first, as the answer says whether a person has abandoned it. Only one that goes on hold needs to know
// later that it was uncordoned.
func (p *reportSense) mayWriteLater(action machine.Action, r *round) bool {
	step, written := r.state.Step, p.last.sent.Step
	switch {
	case machine.WorksInService(step):
		return action.Do == machine.DoNothing || action.Do == machine.DoWork
	case action.Do == machine.DoNothing:
		return !machine.BetweenAttempts(step) && step.Info().Phase != v1alpha1.PhaseStopped
	case action.Do == machine.DoCordon:
		return written == v1alpha1.StepLocking && (r.Host == nil || !r.Host.OneAtATime)
	case action.Do == machine.DoDrain:
		return written == step || written == v1alpha1.StepCordoning || written == v1alpha1.StepLocking
	case action.Do == machine.DoUncordon && !r.Spec.HoldAfter:
		return comesBack(step) && comesBack(written)
	case action.Verb == verb.Confirm:
		isBack := func(step v1alpha1.Step) bool { return step == v1alpha1.StepObserving || step == v1alpha1.StepUnlocking }
		return (comesBack(step) || isBack(step)) && (comesBack(written) || isBack(written))
	}
	return false
}

// comesBack reports whether a node in this step goes on to the end of its reboot, or of its kubelet's
// restart, and has its cordon until then.
func comesBack(step v1alpha1.Step) bool {
	switch step {
	case v1alpha1.StepRebooting, v1alpha1.StepRestarting, v1alpha1.StepVerifying, v1alpha1.StepSettling, v1alpha1.StepUncordoning:
		return true
	}
	return false
}

// persist writes the whole status if it changed: server-side apply removes a field that is
// left out. A change that may be written later is written once it has lasted for writesWithin.
// observedGeneration is raised only after an attempt to read the host: before that, the state was computed for
// the previous spec.
func (p *reportSense) persist(ctx context.Context, r *round, action machine.Action) error {
	if r.state.Step == "" {
		return nil // nothing has been seen yet
	}
	nu := r.order
	if nu == nil {
		return errNoNodeUpgrade
	}
	if r.Host != nil || r.HostProblem != "" {
		p.generation = nu.Generation
	}
	status, later := p.status(r, action), p.mayWriteLater(action, r)
	if p.last.uid == nu.UID && equality.Semantic.DeepEqual(p.last.sent, status) {
		if !p.last.overwritten(nu, r.Now) {
			p.changedAt = time.Time{}
			return nil
		}
		later = false
		p.Log.WarnContext(ctx, "the NodeUpgrade shows another status than was written: writing it again", "node", p.Node, "step", status.Step, "shows", nu.Status.Step)
	}
	if p.changedAt.IsZero() {
		p.changedAt = r.Now
	}
	if later && r.Now.Before(p.changedAt.Add(p.writesWithin())) {
		return nil
	}
	return p.write(ctx, r, status)
}

// status returns the node's status as it is to be written.
func (p *reportSense) status(r *round, next machine.Action) v1alpha1.NodeUpgradeStatus {
	status := statusOf(r.state)
	p.addFacts(&status, r)
	status.ObservedGeneration = p.generation
	problem := p.failing.problem(r.state, next.Do, p.Now())
	status.Conditions = conditions(p.last.status.Conditions, r.state, r.Observation, p.generation, problem)
	status = *status.DeepCopy()
	ofStatus.fit(&status)
	return status
}

func (p *reportSense) write(ctx context.Context, r *round, status v1alpha1.NodeUpgradeStatus) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: p.Node}, Status: status}
	began := p.Now()
	stored, err := applyDeclared(ctx, p, p.Upgrades.NodeUpgrades, out, "status", &p.statusLacks, func(without *v1alpha1.NodeUpgrade) bool {
		return decides(status, without.Status)
	})
	p.noteRefused(r.node, "NodeUpgrade", err)
	p.noteAnswer(err)
	if err != nil {
		return fmt.Errorf("writing the status of NodeUpgrade %s: %w", p.Node, err)
	}
	p.last, p.changedAt = writtenStatus{stored.UID, status, stored.Status, r.Now, p.Now().Sub(began)}, time.Time{}
	r.answer = stored
	if stored.UID != r.order.UID {
		// Apply on the status subresource does not check the UID.
		return fmt.Errorf("writing the status of NodeUpgrade %s: it was deleted and created again meanwhile, with a spec that this agent has not read", p.Node)
	}
	return nil
}

// ofFormerNode reports whether nu belongs to a former Node of this name.
func ofFormerNode(nu *v1alpha1.NodeUpgrade, node *corev1.Node) bool {
	return node != nil && !nu.OwnedBy(node.UID)
}

// addFacts adds the versions that run and that are on the disk. It keeps the last values of
// those that are not known, as after a restart of the agent.
func (p *reportSense) addFacts(status *v1alpha1.NodeUpgradeStatus, r *round) {
	status.AgentVersion = p.Version
	if status.Step != v1alpha1.StepIdle { // which is written before the slot is freed
		status.Slot = r.Slot.Held
	}
	last := &r.order.Status
	if p.last.uid == r.order.UID {
		last = &p.last.status
	}
	versions := &status.Versions
	versions.Kubelet = r.Node.KubeletVersion
	switch {
	case r.Host == nil:
		versions.Staged, versions.Pulled = last.Versions.Staged, last.Versions.Pulled
	case r.Spec.Type.HasVersion() && r.Spec.Version != "" && machine.Staged(r.Observation):
		versions.Staged = r.Spec.Version
		if r.controlPlane && machine.Pulled(r.Observation) {
			versions.Pulled = r.Spec.Version
		}
	}
	facts := p.host.seen.facts
	if facts == nil {
		status.ImageProblem = last.ImageProblem
		versions.Kubeadm, versions.ControlPlane, versions.NextBoot = last.Versions.Kubeadm, last.Versions.ControlPlane, last.Versions.NextBoot
		status.CertificatesRenewed = last.CertificatesRenewed
		status.Reboot.Required, status.Reboot.Message = last.Reboot.Required, last.Reboot.Message
		return
	}
	status.ImageProblem, status.CertificatesRenewed = facts.Unsupported, facts.CertificatesRenewed
	versions.Kubeadm, versions.ControlPlane, versions.NextBoot = kubeadmVersion(*facts), lowest(facts.StaticPods), facts.Active
	status.Reboot.Message = rebootReason(*facts, p.host.engine.status)
	status.Reboot.Required = status.Reboot.Message != ""
}

// mayActUnwritten reports whether an action may be done though the State was not written.
// Without a NodeUpgrade the node still goes back into service: the coordinator that would
// create the NodeUpgrade may itself wait for this cordoned node. That there is none is read
// live: a watch's first list may be from before it was created.
func (p *reportSense) mayActUnwritten(ctx context.Context, r *round, action machine.Action, err error) bool {
	entry, isVerb := verb.Lookup(action.Verb)
	switch {
	case isVerb:
		return entry.NeedsNoState
	case !errors.Is(err, errNoNodeUpgrade):
		return false
	case action.Do.BringsBack():
		nu, err := p.Upgrades.NodeUpgrades.Get(ctx, p.Node, metav1.GetOptions{})
		return apierrors.IsNotFound(err) || err == nil && ofFormerNode(nu, r.node)
	}
	return action.Do == machine.DoNothing
}
