package agent

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// observe returns an Observation. What cannot be read is left out. observedGeneration is
// raised only after an attempt to read the host: before that, the State was computed for
// the previous spec. Without the node's slot nothing may be decided: observe returns an error
// if that could not be read.
func (a *Agent) observe(ctx context.Context) (machine.Observation, error) {
	a.answered = false
	o := machine.Observation{
		Now: a.Now(), WatchingSince: a.started,
		Drain: a.drained, Volumes: a.volumes, RebootTriedAt: a.rebootTriedAt, RebootAskedAt: a.rebootAt,
	}
	if a.rebootProblem != nil {
		o.RebootProblem, o.RebootReason = a.rebootProblem.Error(), host.ReasonOf(a.rebootProblem, v1alpha1.ReasonRebootFailed)
	}
	nu := a.nodeUpgrade()
	if nu != nil {
		o.Managed, o.GiveBack, o.Spec = nu.Spec.Managed, !nu.Spec.Managed, nu.Spec
	}
	if err := a.observeNode(ctx, &o, nu); err != nil {
		return o, err
	}
	if nu != nil && (o.Host != nil || o.HostProblem != "") {
		a.generation = nu.Generation
	}
	return o, nil
}

// observeNode fills in the observation of the node and its host.
func (a *Agent) observeNode(ctx context.Context, o *machine.Observation, nu *v1alpha1.NodeUpgrade) error {
	node := a.node()
	if node == nil {
		o.HostProblem = "this node's Node object does not exist"
		return nil
	}
	o.Node = nodeOf(node)
	if err := a.leases.follow(ctx, a.slotScope(nu, node)); err != nil {
		return err
	}
	o.Slot = a.slot(node, orderedSlot(nu))
	if err := a.readHost(ctx, o); err != nil {
		o.Host, o.HostProblem = nil, err.Error()
	}
	a.readLease(ctx, o)
	a.etcd.wanted = false
	if machine.NeedsGate(a.state, *o) {
		o.Gate = a.askGate(ctx, node, *o)
	}
	if o.Host == nil {
		return nil
	}
	if machine.NeedsHealth(a.state, *o) && a.checkEtcd(ctx, *o, a.state.Since) {
		o.Health = a.health(ctx, *o)
	}
	a.refreshEtcd(ctx, *o)
	a.checkRegistration(ctx, o)
	return nil
}

// openGate is the last answer of a gate that was open.
type openGate struct {
	at   time.Time // by the wall clock, which does not stop with the machine; zero: it was not open
	now  bool      // it was read in this reconcile
	spec v1alpha1.NodeUpgradeSpec
}

// counts reports whether the answer still counts: it was read less than within ago, for the same order.
func (g openGate) counts(o machine.Observation, within time.Duration) bool {
	age := o.Now.Round(0).Sub(g.at)
	return !g.at.IsZero() && age >= 0 && age < within && equality.Semantic.DeepEqual(g.spec, o.Spec)
}

// askGate returns the gate's answer, or nil if it is not to be read yet. It needs etcd's health from the
// host, except on a worker that drains. During a drain it is read before each round of evictions.
func (a *Agent) askGate(ctx context.Context, node *corev1.Node, o machine.Observation) *fleet.Hold {
	draining := a.state.Step == v1alpha1.StepDraining
	a.onlyLooks = draining && a.pods.gone(a.ending)
	switch {
	case a.onlyLooks:
		return &fleet.Hold{} // nothing is evicted, and the last check reads it
	case draining && !a.roundDue(o.Now):
		return nil
	case a.open.now && a.beginsToDisrupt() && a.open.counts(o, answerCounts):
		return &fleet.Hold{}
	case o.Host == nil && (!draining || a.onControlPlane()):
		return nil
	case o.Host != nil && !a.checkEtcd(ctx, o, time.Time{}):
		return nil
	}
	gate := a.gate(ctx, node, o)
	if a.open = (openGate{}); !gate.Holds() {
		a.open = openGate{at: o.Now.Round(0), now: true, spec: o.Spec}
	}
	return &gate
}

// beginsToDisrupt reports whether the node is between its slot and the first eviction. If nothing is
// waited for there, all of it is done in one reconcile, and the gate's answer before the slot counts.
func (a *Agent) beginsToDisrupt() bool {
	switch a.state.Step {
	case v1alpha1.StepSnapshotting, v1alpha1.StepKubeadm, v1alpha1.StepCordoning:
		return true
	}
	return a.state.Step == v1alpha1.StepDraining && a.drained == nil
}

func nodeOf(node *corev1.Node) machine.Node {
	seen := machine.Node{
		Unschedulable:  node.Spec.Unschedulable,
		OnHold:         rules.Label(node.Labels).Holds(),
		SlotMark:       node.Annotations[v1alpha1.SlotAnnotation],
		KubeletVersion: node.Status.NodeInfo.KubeletVersion,
		BootID:         node.Status.NodeInfo.BootID,
	}
	_, seen.OurCordon = node.Annotations[v1alpha1.CordonAnnotation]
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			seen.Ready, seen.ReadySince = condition.Status == corev1.ConditionTrue, condition.LastTransitionTime.Time
		}
	}
	return seen
}

func ownerOf(node *corev1.Node) fleet.Owner {
	return fleet.Owner{Node: node.Name, UID: string(node.UID)}
}

// slot returns which slot this node holds, and which one is reserved for it, according to the
// watch. Another slot than its order or its mark names does not count: another client wrote that
// Lease, and the coordinator mends it. It skips a Lease that cannot be parsed.
func (a *Agent) slot(node *corev1.Node, ordered string) machine.Slot {
	var seen machine.Slot
	me, mark := ownerOf(node), node.Annotations[v1alpha1.SlotAnnotation]
	for _, lease := range a.leases.leases() {
		s, err := slot.FromLease(lease)
		if err != nil || ordered != "" && s.Name != ordered && s.Name != mark {
			continue
		}
		a.addHolder(&s, lease.ResourceVersion)
		if s.Holder == me && (seen.Held == "" || s.Name == mark) {
			seen.Held = s.Name
		}
		if s.ReservedFor == me && (s.Holder == fleet.Owner{} || s.Holder == me) {
			seen.Reserved = s.Name
		}
	}
	return seen
}

// orderedSlot returns the slot that the NodeUpgrade's order names; empty: none.
func orderedSlot(nu *v1alpha1.NodeUpgrade) string {
	if nu == nil {
		return ""
	}
	return nu.Spec.Slot
}

// registrationAge is how long the answer to a dry run counts.
const registrationAge = 10 * time.Second

// registrationView is the last answer to what the kubelet writes to its Node.
type registrationView struct {
	at      time.Time
	problem string
}

// checkRegistration tries, as dry runs, what a kubelet writes to its Node after its start,
// while it has not done so: an admission webhook may refuse it, and only the kubelet's own
// log would say so.
func (a *Agent) checkRegistration(ctx context.Context, o *machine.Observation) {
	if !machine.AwaitsKubelet(a.state, *o) {
		a.registration = registrationView{}
		return
	}
	if o.Now.Sub(a.registration.at) >= registrationAge {
		a.registration.at, a.registration.problem = o.Now, ""
		if err := a.registrationRefused(ctx); err != nil {
			a.registration.problem = err.Error()
		}
	}
	o.KubeletRefused = a.registration.problem
}

// registrationRefused returns the API server's answer if it refuses one of the dry runs. A
// Node that exists already is no refusal, and neither is an API server that does not answer.
func (a *Agent) registrationRefused(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	nodes, dryRun := a.Kubelet.Nodes(), []string{metav1.DryRunAll}
	_, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: a.Node}}, metav1.CreateOptions{DryRun: dryRun})
	if err == nil || apierrors.IsAlreadyExists(err) {
		_, err = nodes.Patch(ctx, a.Node, types.MergePatchType, []byte("{}"), metav1.PatchOptions{DryRun: dryRun}, "status")
	}
	if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		return nil // no answer
	}
	return err
}

const (
	// leaseAge is how long an answer about the kubelet's Lease counts: a kubelet renews it as
	// often.
	leaseAge = 10 * time.Second
	// leaseLasts is how long a renewal counts, unless the Lease says so: the default of
	// KubeletConfiguration's nodeLeaseDurationSeconds.
	leaseLasts = 40 * time.Second
)

// leaseView is what was last read of the kubelet's Lease.
type leaseView struct {
	machine.Lease
	readAt time.Time // the last attempt; zero: there was none
}

// readLease reads the Lease that the kubelet renews, while machine needs it. A kubelet may get its
// own Lease, and may not watch it (authorizeLease in plugin/pkg/auth/authorizer/node, v1.34.3).
func (a *Agent) readLease(ctx context.Context, o *machine.Observation) {
	if !machine.NeedsLease(a.state, *o) {
		a.lease = leaseView{}
		return
	}
	seen := &a.lease
	if age := o.Now.Sub(seen.readAt); age >= leaseAge || age < 0 || o.Now.Sub(seen.RenewedAt) > seen.Lasts {
		a.askForLease(ctx, o.Now)
	}
	o.Lease = &seen.Lease
}

func (a *Agent) askForLease(ctx context.Context, now time.Time) {
	seen := &a.lease
	ctx, cancel := context.WithTimeout(ctx, gateTimeout)
	defer cancel()
	lease, err := a.Kubelet.Leases(corev1.NamespaceNodeLease).Get(ctx, a.Node, metav1.GetOptions{})
	if seen.readAt = now; err != nil && !apierrors.IsNotFound(err) {
		seen.ReadSince = time.Time{}
		a.Log.DebugContext(ctx, "reading the kubelet's Lease", "node", a.Node, "error", err)
		return
	}
	if seen.ReadSince.IsZero() {
		seen.ReadSince = now
	}
	if err != nil {
		return // a kubelet that works creates it again
	}
	seen.Lasts = cmp.Or(time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0))*time.Second, leaseLasts)
	if renewed := lease.Spec.RenewTime; renewed != nil {
		seen.RenewedAt = renewed.Time
	}
}

const engineTimeout = 5 * time.Second

// engineView is the last status of Flatcar's update_engine.
type engineView struct {
	// ask is set when the status may have changed: update_engine sent a signal, or the
	// host's facts are being gathered.
	ask     atomic.Bool
	status  string
	problem string // why the last read failed; status is kept
}

// readUpdateEngine reads update_engine's status if it may have changed. An error only means
// that the node is not rebooted for it.
func (a *Agent) readUpdateEngine(ctx context.Context) {
	if !a.engine.ask.Swap(false) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	status, err := a.Host.UpdateEngine(ctx)
	if err != nil {
		a.Log.WarnContext(ctx, "asking update_engine", "node", a.Node, "error", err)
		a.engine.problem = err.Error()
		return
	}
	a.engine.status, a.engine.problem = status, ""
}

// osReboot reports whether the operating system requires a reboot, and why.
// update_engine touches /run/reboot-required too, and says more.
func osReboot(f verb.HostFacts, updateEngine string) (required bool, reason string) {
	if updateEngine == host.UpdateEngineNeedReboot {
		return true, "the operating system asks for a reboot: Flatcar's update_engine has installed an update (" + updateEngine + ")"
	}
	return f.RebootRequired, f.RebootReason
}

// rebootReason returns every reason for a reboot, Kubernetes' own first; or an empty
// string.
func rebootReason(f verb.HostFacts, updateEngine string) string {
	var reasons []string
	if f.Active != "" && f.Merged != "" && f.Active != f.Merged {
		reasons = append(reasons, fmt.Sprintf("runs %s, and the next boot brings %s", f.Merged, f.Active))
	}
	if required, reason := osReboot(f, updateEngine); required {
		reasons = append(reasons, reason)
	}
	return strings.Join(reasons, "; ")
}
