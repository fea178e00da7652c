package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules/rebootmanager"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// gateTimeout limits the gate's reads. The gate stays closed while the API server does not
// answer, and the status should say so soon.
const gateTimeout = 15 * time.Second

// gate returns why the node may not continue now, or that it may. It reads live, but for the hold label ahead
// of a turn: a broken watch may still show a window that closed long ago.
func (a *Agent) gate(ctx context.Context, node *corev1.Node, o machine.Observation) fleet.Hold {
	ctx, cancel := context.WithTimeout(ctx, gateTimeout)
	defer cancel()
	hold, err := a.readGate(ctx, node, o)
	if err != nil {
		return fleet.Hold{Reason: v1alpha1.ReasonGateUnknown, Message: err.Error()}
	}
	return hold
}

// readGate returns the first hold that keeps the gate closed. It returns an error if a hold
// could not be read.
func (a *Agent) readGate(ctx context.Context, node *corev1.Node, o machine.Observation) (fleet.Hold, error) {
	// Once the node has its slot, the hold label, other reboot managers and the time that
	// is left in the window no longer count. Ahead of its turn the node is not rebooted, so that no other
	// manager counts, and the hold label counts as the watch shows it. Neither there nor during the drain does a
	// version count: those are read before the slot is taken, and at the last check.
	begins := o.Slot.Held == ""
	ahead := o.Spec.Release == v1alpha1.ReleaseKubeadmAhead
	a.daemonSets = nil
	drains := a.state.Step == v1alpha1.StepDraining || a.state.Step == v1alpha1.StepDetaching
	policy, err := a.policy(ctx)
	if err != nil {
		return fleet.Hold{}, err
	}
	if hold := rules.Policy(policy); hold.Holds() {
		return hold, nil
	}
	if hold, err := a.keyringHold(policy.Spec.Source.Keyring, o); err != nil || hold.Holds() {
		return hold, err
	}
	upgrade, err := a.upgradeOf(ctx, o.Spec.Upgrade)
	if err != nil {
		return fleet.Hold{}, err
	}
	if upgrade == nil {
		return fleet.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: "the node's ClusterUpgrade no longer exists"}, nil
	}
	checks := []func() (fleet.Hold, error){
		func() (fleet.Hold, error) { return a.clock(), nil }, // which upgradeOf has just compared
		func() (fleet.Hold, error) { return specHold(o.Spec, upgrade), nil },
		func() (fleet.Hold, error) {
			return rules.Request(policy, upgrade.Spec, o.Spec.Type, a.Node, string(node.UID)), nil
		},
		func() (fleet.Hold, error) { return a.window(ctx, node, upgrade, o, begins) },
		func() (fleet.Hold, error) { return a.stillReleased(ctx, o) },
		func() (fleet.Hold, error) { return a.stillHoldsSlot(ctx, node, o) },
		func() (fleet.Hold, error) { return a.etcdHold(o, upgrade.Spec), nil },
	}
	if !ahead && !drains {
		checks = append(checks, func() (fleet.Hold, error) { return a.skew(ctx, o, rules.ByRequest(policy)) })
	}
	switch {
	case ahead:
		checks = append(checks, func() (fleet.Hold, error) { return rules.Label(node.Labels), nil })
	case begins:
		checks = append(checks,
			func() (fleet.Hold, error) { return a.onHold(ctx) },
			func() (fleet.Hold, error) { return a.managers(ctx, node, policy, upgrade.Spec) })
	}
	for _, check := range checks {
		if hold, err := check(); err != nil || hold.Reason != "" {
			return hold, err
		}
	}
	return fleet.Hold{}, nil
}

// clock holds the node while its clock differs from the API server's: it judges windows by it.
func (a *Agent) clock() fleet.Hold { return rules.Clock("this node", a.clockAhead()) }

func (a *Agent) clockAhead() time.Duration {
	if a.ClockAhead == nil {
		return 0
	}
	return a.ClockAhead()
}

// window returns the hold by suspend, startTime, approvals, exclusions or maintenance
// windows. For a node that begins, the rest of the window must be long enough.
func (a *Agent) window(ctx context.Context, node *corev1.Node, upgrade *v1alpha1.ClusterUpgrade, o machine.Observation, begins bool) (fleet.Hold, error) {
	schedules, err := a.Upgrades.MaintenanceSchedules.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fleet.Hold{}, fmt.Errorf("listing maintenance schedules: %w", err)
	}
	var need time.Duration
	if begins {
		need = time.Duration(ptr.Deref(o.Spec.ExpectedSeconds, 0)) * time.Second
	}
	return rules.Window(upgrade, o.Spec.Type, schedules.Items, node.Labels, o.Now, need), nil
}

// stillReleased holds the node if its release changed since the observation, or a person has abandoned it. If this observation's status has
// just been written, the API server's answer shows the spec, and nothing more is read. The wall clock says
// whether it was just now, as it does not stop with the machine.
func (a *Agent) stillReleased(ctx context.Context, o machine.Observation) (fleet.Hold, error) {
	now, abandoned := a.lastStatus.spec, a.lastStatus.abandoned
	if age := a.Now().Round(0).Sub(o.Now.Round(0)); !a.answered || age < 0 || age >= answerCounts {
		read, err := a.Upgrades.NodeUpgrades.Get(ctx, a.Node, metav1.GetOptions{})
		if err != nil {
			return fleet.Hold{}, fmt.Errorf("reading this node's NodeUpgrade: %w", err)
		}
		now, abandoned = read.Spec, read.Abandoned != nil
	}
	if abandoned {
		return abandonedHold, nil
	}
	if !equality.Semantic.DeepEqual(now.Upgrade, o.Spec.Upgrade) || now.Release != o.Spec.Release {
		message := fmt.Sprintf("the release was changed to %q for upgrade %q", now.Release, ptr.Deref(now.Upgrade, v1alpha1.UpgradeReference{}).Name)
		return fleet.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: message}, nil
	}
	if now.Slot != o.Spec.Slot {
		return fleet.Hold{Reason: v1alpha1.ReasonNoSlot, Message: fmt.Sprintf("the order names slot %q instead of %q now", now.Slot, o.Spec.Slot)}, nil
	}
	return fleet.Hold{}, nil
}

var abandonedHold = fleet.Hold{Reason: v1alpha1.ReasonUpgradeWithdrawn, Message: "a person has abandoned this node"}

// stillHoldsSlot holds the node if it no longer holds the slot that the watch shows.
func (a *Agent) stillHoldsSlot(ctx context.Context, node *corev1.Node, o machine.Observation) (fleet.Hold, error) {
	if o.Slot.Held == "" {
		return fleet.Hold{}, nil
	}
	lease, err := a.Account.Leases(v1alpha1.Namespace).Get(ctx, o.Slot.Held, metav1.GetOptions{})
	if err != nil {
		return fleet.Hold{}, fmt.Errorf("reading slot %s: %w", o.Slot.Held, err)
	}
	s, err := slot.FromLease(lease)
	if err != nil {
		return fleet.Hold{}, err
	}
	if s.Holder != ownerOf(node) {
		return fleet.Hold{Reason: v1alpha1.ReasonNoSlot, Message: fmt.Sprintf("this node no longer holds slot %s; its holder is %q", s.Name, s.Holder.Node)}, nil
	}
	return fleet.Hold{}, nil
}

// upgradeOf reads the upgrade that a NodeUpgrade.spec refers to; nil if it no longer
// exists. An upgrade that was created again under the same name is another one.
func (a *Agent) upgradeOf(ctx context.Context, ref *v1alpha1.UpgradeReference) (*v1alpha1.ClusterUpgrade, error) {
	if ref == nil {
		return nil, nil
	}
	upgrade, err := a.Upgrades.ClusterUpgrades.Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case err == nil && string(upgrade.UID) == ref.UID:
		return upgrade, nil
	case err != nil && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("reading upgrade %q: %w", ref.Name, err)
	}
	return a.followedUpgrade(ctx, ref)
}

// followedUpgrade returns an upgrade that succeeded and was deleted, but to whose version
// late nodes are still brought; or nil. Only windows apply to it.
func (a *Agent) followedUpgrade(ctx context.Context, ref *v1alpha1.UpgradeReference) (*v1alpha1.ClusterUpgrade, error) {
	policy, err := a.policy(ctx)
	if err != nil {
		return nil, err
	}
	if followed := rules.FollowedUpgrade(policy); followed != nil && string(followed.UID) == ref.UID {
		return followed, nil
	}
	return nil, nil
}

// onHold holds a node that a person put on hold. It reads live, as the watch may be stale.
func (a *Agent) onHold(ctx context.Context) (fleet.Hold, error) {
	node, err := a.Kubelet.Nodes().Get(ctx, a.Node, metav1.GetOptions{})
	if err != nil {
		return fleet.Hold{}, fmt.Errorf("reading node %s: %w", a.Node, err)
	}
	return rules.Label(node.Labels), nil
}

// managers holds the node if kured or FLUO also reboots nodes, which the coordinator may
// not have noticed yet. It reads the DaemonSets, of which there are few, and this Node, but
// not all Nodes: 5,000 agents would each read 5,000 of them. If a lock is held that does not
// count yet, it also looks for a pod of kured on this node.
func (a *Agent) managers(ctx context.Context, node *corev1.Node, policy *v1alpha1.UpgradePolicy, upgrade v1alpha1.ClusterUpgradeSpec) (fleet.Hold, error) {
	list, err := a.Account.DaemonSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fleet.Hold{}, fmt.Errorf("listing DaemonSets, to see whether another program reboots nodes: %w", err)
	}
	daemonSets := make([]*appsv1.DaemonSet, len(list.Items))
	a.daemonSets = map[types.NamespacedName]bool{} // for the drain, which begins soon
	for i := range list.Items {
		daemonSets[i] = &list.Items[i]
		a.daemonSets[types.NamespacedName{Namespace: daemonSets[i].Namespace, Name: daemonSets[i].Name}] = true
	}
	var problem error
	named := policy.RebootManagers()
	active := rebootmanager.Active([]*corev1.Node{node}, daemonSets, named)
	if len(active) == 0 && rebootmanager.LockHeld(daemonSets) {
		pods, err := a.Kubelet.Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node.Name})
		if err != nil {
			return fleet.Hold{}, fmt.Errorf("listing this node's pods, to see whether kured runs: %w", err)
		}
		named = slices.Concat(named, rebootmanager.OfFormerPods(daemonSets, pods.Items))
		active = rebootmanager.Active([]*corev1.Node{node}, daemonSets, named)
	}
	hold := rules.OtherManager(active, upgrade, a.onControlPlane(), func(name string) bool {
		left, err := a.leaves(ctx, name)
		problem = errors.Join(problem, err)
		return left
	})
	return hold, problem
}

// leaves reports whether the node of that name is not managed, and holds no slot. Nothing is
// known about a node without a NodeUpgrade: it may be a managed one that has just joined.
func (a *Agent) leaves(ctx context.Context, name string) (bool, error) {
	other, err := a.Upgrades.NodeUpgrades.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading NodeUpgrade %s, to see whether its node is managed: %w", name, err)
	}
	return !other.Spec.Managed && other.Status.Slot == "", nil
}

// skew holds an upgrade that violates Kubernetes' version skew policy: no skipped minor, no
// downgrade but that of a kubelet within its minor, by a Rollback, and no kubelet newer than a
// running apiserver.
func (a *Agent) skew(ctx context.Context, o machine.Observation, byRequest bool) (fleet.Hold, error) {
	if o.Spec.Type == v1alpha1.TypeReboot {
		return fleet.Hold{}, nil
	}
	pods, err := a.Account.Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "component=kube-apiserver"})
	if err != nil {
		return fleet.Hold{}, fmt.Errorf("listing the apiservers: %w", err)
	}
	switch err := checkSkew(a.Node, pods.Items, o, byRequest); {
	case err != nil && byRequest && o.Host == nil: // whether it is a control plane is not known
		return fleet.Hold{}, err
	case err != nil:
		return fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: err.Error()}, nil
	}
	return fleet.Hold{}, nil
}

// checkSkew returns why the version skew policy forbids the node's step. A control plane that goes by
// Cluster API's request brings its own apiserver to the version first, and its kubelet may talk to no
// other.
func checkSkew(node string, apiServers []corev1.Pod, o machine.Observation, byRequest bool) error {
	target, err := version.Parse(o.Spec.Version)
	if err != nil {
		return err
	}
	kubelet, err := version.Parse(o.Node.KubeletVersion)
	if err != nil {
		return fmt.Errorf("the kubelet's version: %w", err)
	}
	check := version.CheckStep
	if o.Spec.Type == v1alpha1.TypeRollback {
		check = version.CheckRollback
	}
	if err := check(kubelet, target); err != nil {
		return err
	}
	servers, err := versionsOf(apiServers)
	if err != nil {
		return err
	}
	oneTurn := byRequest && o.Host != nil && o.Host.ControlPlane && !o.Spec.Type.KubeletsOnly()
	if o.Spec.Release == v1alpha1.ReleaseControlPlane || oneTurn {
		err := version.CheckAPIServers(append(slices.Collect(maps.Values(servers)), target)...)
		if err != nil || !oneTurn {
			return err
		}
	}
	for _, on := range slices.Sorted(maps.Keys(servers)) {
		own := on == node
		if oneTurn && (own && !version.AtLeast(o.Host.KubeadmVersion, o.Spec.Version) || !own && o.Host.Node.OwnAPIServer) {
			continue
		}
		if err := version.CheckKubelet(target, servers[on]); err != nil {
			return err
		}
	}
	return nil
}

// versionsOf returns the apiservers' versions by node, from their images' tags.
func versionsOf(apiServers []corev1.Pod) (map[string]version.Version, error) {
	versions := map[string]version.Version{}
	for i := range apiServers {
		if !fleet.IsStaticPod(&apiServers[i]) {
			continue
		}
		v, err := version.Parse(fleet.StaticPodVersion(&apiServers[i]))
		if err != nil {
			return nil, fmt.Errorf("apiserver %s: %w", apiServers[i].Name, err)
		}
		if other, there := versions[apiServers[i].Spec.NodeName]; !there || v.Less(other) {
			versions[apiServers[i].Spec.NodeName] = v
		}
	}
	if len(versions) == 0 {
		return nil, fmt.Errorf("found no kube-apiserver pod to compare versions with")
	}
	return versions, nil
}
