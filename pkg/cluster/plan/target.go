package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// target is an upgrade and what it asks of nodes.
type target struct {
	*v1alpha1.ClusterUpgrade                 // the planner's own copy
	forLateNodes             bool            // it has ended, and nodes that join late or return are brought to its version
	reboot                   bool            // its type is Reboot
	back                     bool            // its type is Rollback
	certificates             bool            // its type is Certificates
	clusterAPIDecides        bool            // Cluster API decides which nodes begin
	awaited                  version.Version // Cluster API is to bring control planes to it first; zero: to none
	to                       version.Version // zero if it has none, and if it is invalid
	selector                 labels.Selector
	strategy                 v1alpha1.Strategy
	patchMethod              v1alpha1.Method   // the strategy's for nodes for which the upgrade is a patch
	hold                     clusterstate.Hold // why it is not triggered yet
	// takenBackBy is the Rollback that takes its version back. Nil: none does.
	takenBackBy *v1alpha1.ClusterUpgrade
	passed      []string          // for late nodes: the control planes for which workers do not wait
	taken       []version.Version // for late nodes that return after a Rollback: what they are taken back from
}

// newTarget reads what an unfinished upgrade asks for.
func (r *reading) newTarget(u *v1alpha1.ClusterUpgrade) *target {
	t := &target{ClusterUpgrade: u, to: parsed(u.Spec.Version)}
	t.reboot, t.back = rules.TypeOf(u) == v1alpha1.TypeReboot, rules.TypeOf(u) == v1alpha1.TypeRollback
	t.certificates = rules.TypeOf(u) == v1alpha1.TypeCertificates
	t.clusterAPIDecides = t.runsKubeadmUpgrade() && rules.ClusterAPIDecides(r.snapshot.Policy)
	t.awaited = r.awaited(t)
	t.takenBackBy = r.takenBackBy(t)
	var err error
	if t.selector, err = readSelector(u.Spec.NodeSelector); err != nil {
		t.selector = labels.Nothing()
		t.hold = clusterstate.Hold{Reason: v1alpha1.ReasonUpgradeInvalid, Message: "nodeSelector: " + err.Error(), Stays: true}
	}
	t.resolve(r)
	return t
}

// resolve sets the strategy. A policy's method Restart is only for patches, and its
// SoftReboot keeps the kernel that a Reboot is there to replace: other upgrades reboot.
func (t *target) resolve(r *reading) {
	t.strategy = t.Resolve(r.policySpec().Strategy)
	t.patchMethod = t.strategy.Method
	kind := rules.TypeOf(t.ClusterUpgrade)
	if t.strategy.Method == v1alpha1.MethodRestart && kind != v1alpha1.TypePatch || t.versionless() {
		t.strategy.Method = v1alpha1.MethodReboot
	}
	t.Status.Strategy = t.strategy
}

// versionless reports whether the upgrade brings no version: what runs stays.
func (t *target) versionless() bool { return t.reboot || t.certificates }

// runsKubeadmUpgrade reports whether the upgrade runs `kubeadm upgrade`.
func (t *target) runsKubeadmUpgrade() bool { return !t.versionless() && !t.back }

// isFor reports whether ref names this upgrade. One that was deleted and created again
// with the same name is another one.
func (t *target) isFor(ref *v1alpha1.UpgradeReference) bool {
	return t != nil && ref != nil && ref.UID == string(t.UID)
}

// concerns reports whether the upgrade may change the node, now or later.
func (t *target) concerns(n *node) bool {
	return n.eligible() && t.selects(n) && !t.unsupported(n) && t.mayRenew(n)
}

// unsupported reports whether an upgrade of this type is not possible on the node: no agent
// can run there; or Kubernetes does not come to it as a sysext image, and the upgrade brings a
// version. A node that has begun one that brings none, or is released for it, is first brought back
// into service.
func (t *target) unsupported(n *node) bool {
	if n.noAgent() || !n.status.LacksImage() || t != nil && t.versionless() {
		return n.noAgent()
	}
	return !n.busy() && (!n.released() || t.isFor(n.spec.Upgrade))
}

// selects reports whether the upgrade's nodeSelector matches the node.
func (t *target) selects(n *node) bool {
	return t == nil || t.selector.Empty() || t.selector.Matches(labels.Set(n.Labels))
}

// notSelected returns a sentence about a node that the upgrade does not select.
func (t *target) notSelected() string {
	if t.Spec.NodeSelector.NamesNodes() {
		return "the upgrade does not name this node"
	}
	return "the upgrade's nodeSelector does not match this node"
}

// leavesOut reports whether the policy or the upgrade does not select the node, or the upgrade has nothing to do on
// nodes like it.
func (t *target) leavesOut(n *node) bool { return !n.managed || !t.selects(n) || !t.mayRenew(n) }

// typeFor returns the upgrade's type for the node: a minor where the node's own version makes it one, and else
// a patch. One that joins after a patch may be a minor behind; one whose kubelet says so makes the whole upgrade
// a minor, but must not open the windows of others.
func (t *target) typeFor(n *node) v1alpha1.UpgradeType {
	kind := rules.TypeOf(t.ClusterUpgrade)
	switch {
	case kind != v1alpha1.TypePatch && kind != v1alpha1.TypeMinor, !known(t.to), !known(*n.runs.kubelet), t.upToDate(n):
		return kind
	case !n.runs.kubelet.SameLine(t.to), n.ControlPlane && known(*n.runs.controlPlane) && !n.runs.controlPlane.SameLine(t.to):
		return v1alpha1.TypeMinor
	}
	return v1alpha1.TypePatch
}

// methodAsked returns the strategy's method for the node.
func (t *target) methodAsked(n *node) v1alpha1.Method {
	if t.typeFor(n) == v1alpha1.TypePatch {
		return t.patchMethod
	}
	return t.strategy.Method
}

// triggerFilters return why an upgrade cannot be triggered. Each relies on those before
// it. notOffered comes after them, when the type is known.
var triggerFilters = []func(*reading, *target) clusterstate.Hold{
	noNode,
	versionUnreadable,
	apiServerStep,
	apiServerLeftBehind,
	kubeletUnreadable,
	nothingToTakeBack,
	typeForbidden,
	tooManyBoots,
}

// triggered returns a copy of the target as it is once it is triggered, if it can be.
func (t *target) triggered(r *reading) *target {
	trial := r.newTarget(t.DeepCopy())
	trial.passed = t.passed
	trial.trigger(r)
	return trial
}

// trigger sets what never changes after an upgrade is triggered: its type, the version
// it starts from, its images, and the boots that it ends. If it cannot, it sets the target's hold.
func (t *target) trigger(r *reading) {
	if t.hold.Holds() {
		return
	}
	if t.hold = r.policyHold; t.hold.Holds() || t.Status.TriggerTime != nil {
		return
	}
	for _, filter := range triggerFilters {
		if t.hold = filter(r, t); t.hold.Holds() {
			return
		}
	}
	t.Status.Type, t.Status.FromVersion = t.derive(r)
	if t.hold = notOffered(r, t); t.hold.Holds() {
		return
	}
	for _, filter := range []func(*reading, *target) clusterstate.Hold{tooNew, tooSoon} {
		if t.hold = filter(r, t); t.hold.Holds() {
			return
		}
	}
	t.Status.Images, t.Status.Boots, t.Status.ToVersion = t.images(r), t.boots(r), t.Spec.Version
	t.Status.TriggerTime = &metav1.Time{Time: r.now.Truncate(time.Second)}
	t.resolve(r)
}

// stalled reports whether the upgrade is not triggered, and a person must act first.
func (t *target) stalled() bool {
	return t.Status.TriggerTime == nil && !t.forLateNodes && t.hold.NeedsPerson()
}

func noNode(r *reading, t *target) clusterstate.Hold {
	if slices.ContainsFunc(r.nodes, t.concerns) {
		return clusterstate.Hold{}
	}
	fitting := "node that gets Kubernetes as a sysext image"
	switch {
	case t.reboot:
		fitting = "node on which an agent can run"
	case t.certificates:
		fitting = "control-plane node whose certificates kubeadm renews"
	}
	message := "this cluster has no " + fitting
	switch {
	case slices.ContainsFunc(r.nodes, func(n *node) bool { return n.eligible() && !t.unsupported(n) }):
		message = "nodeSelector matches no " + fitting
	case len(r.nodes) > 0 && !slices.ContainsFunc(r.nodes, func(n *node) bool { return n.managed }):
		message = "the UpgradePolicy's nodeSelector matches no node"
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonUnsupported, Message: message}
}

func versionUnreadable(_ *reading, t *target) clusterstate.Hold {
	if _, err := version.Parse(t.Spec.Version); err != nil && !t.versionless() {
		return clusterstate.Hold{Reason: v1alpha1.ReasonUpgradeInvalid, Message: err.Error(), Stays: true}
	}
	return clusterstate.Hold{}
}

func kubeletUnreadable(r *reading, t *target) clusterstate.Hold {
	for _, n := range r.nodes {
		if err := n.runs.problem; err != nil && !t.versionless() && t.concerns(n) {
			return clusterstate.Hold{Reason: v1alpha1.ReasonSkew, Message: fmt.Sprintf("node %s: %v", n.Name, err)}
		}
	}
	return clusterstate.Hold{}
}

func notOffered(r *reading, t *target) clusterstate.Hold {
	if t.versionless() {
		return clusterstate.Hold{}
	}
	offered := t.images(r)
	for _, architecture := range t.architectures(r) {
		if slices.ContainsFunc(offered, func(i v1alpha1.Image) bool { return string(i.Architecture) == architecture }) {
			continue
		}
		if r.snapshot.Source.Problem.Holds() {
			return r.snapshot.Source.Problem
		}
		if t.back {
			message := fmt.Sprintf("the source does not offer %s for %s, and no upgrade of this cluster has recorded its digest: publish the image again", t.to, architecture)
			return clusterstate.Hold{Reason: v1alpha1.ReasonNotOffered, Message: message, Stays: true}
		}
		message := fmt.Sprintf("the source offers no image of %s for %s", t.to, architecture)
		return clusterstate.Hold{Reason: v1alpha1.ReasonNotOffered, Message: message, Stays: true}
	}
	return clusterstate.Hold{}
}

// tooNew holds an automatic upgrade whose images were replaced after it was created: their age
// belongs to their digests.
func tooNew(r *reading, t *target) clusterstate.Hold {
	wanted := r.automaticSpec(v1alpha1.TypePatch)
	if t.versionless() || !t.isByCoordinator() || wanted == nil {
		return clusterstate.Hold{}
	}
	minAge := clusterstate.Seconds(wanted.MinAgeSeconds)
	old := r.oldEnough(t.to, minAge)
	if old != nil && !r.now.Before(*old) {
		return clusterstate.Hold{}
	}
	message := fmt.Sprintf("an image of %s has changed since the upgrade was created, and automatic patches wait until each image has been available for minAgeSeconds (%d)",
		t.to, *wanted.MinAgeSeconds)
	return clusterstate.Hold{Reason: v1alpha1.ReasonImageTooNew, Message: message, Until: old}
}

// architectures returns those of the nodes that still need an image.
func (t *target) architectures(r *reading) []string {
	var list []string
	for _, n := range r.nodes {
		if t.concerns(n) && !t.upToDate(n) && !slices.Contains(list, n.Architecture) {
			list = append(list, n.Architecture)
		}
	}
	slices.Sort(list)
	return list
}

// images returns those that the source offers, one for each architecture.
func (t *target) images(r *reading) []v1alpha1.Image {
	if t.versionless() {
		return nil
	}
	offered := r.snapshot.Source.Images(t.to.String())
	if t.back {
		offered = r.formerImages(t, offered)
	}
	slices.SortFunc(offered, func(a, b v1alpha1.Image) int { return cmp.Compare(a.Architecture, b.Architecture) })
	return offered
}

// apiServerStep holds an upgrade that kubeadm cannot do with the apiservers' versions.
func apiServerStep(r *reading, t *target) clusterstate.Hold {
	if !t.runsKubeadmUpgrade() {
		return clusterstate.Hold{}
	}
	if len(r.snapshot.APIServers) == 0 {
		return clusterstate.Hold{Reason: v1alpha1.ReasonSkew, Message: "no kube-apiserver pod was found in kube-system: their versions are not known"}
	}
	for _, pod := range r.ownAPIServers(t) {
		v, err := version.Parse(pod.Version)
		if err == nil && !t.leavesNewer(v) {
			err = version.CheckStep(v, t.to)
		}
		if err != nil {
			return skew(pod, err)
		}
	}
	return clusterstate.Hold{}
}

// leavesNewer reports whether the upgrade leaves a newer apiserver as it is: Cluster API may bring workers to
// an older patch than it has brought control planes to.
func (t *target) leavesNewer(apiServer version.Version) bool {
	return t.clusterAPIDecides && t.to.SameLine(apiServer) && t.to.Less(apiServer)
}

// apiServerLeftBehind holds an upgrade whose kubelets would be of a newer minor than an
// apiserver on a node that it skips.
func apiServerLeftBehind(r *reading, t *target) clusterstate.Hold {
	if !t.runsKubeadmUpgrade() {
		return clusterstate.Hold{}
	}
	_, others := r.divideAPIServers(t)
	for _, pod := range others {
		v, err := version.Parse(pod.Version)
		if err == nil {
			err = version.CheckKubelet(t.to, v)
		}
		if err != nil {
			return skew(pod, err)
		}
	}
	return clusterstate.Hold{}
}

func skew(pod clusterstate.StaticPod, err error) clusterstate.Hold {
	return clusterstate.Hold{Reason: v1alpha1.ReasonSkew, Message: fmt.Sprintf("kube-apiserver on %s: %v", pod.Node, err)}
}

// derive returns the upgrade's type and the oldest version that it upgrades from. A
// Reboot has none, nor has the renewal of certificates. Nodes that are stuck count only if there are no others: a dead one that is a
// minor behind does not make a patch a minor, and comes along later (typeFor). So do all that are a minor
// behind, if the coordinator has created a patch and an apiserver is of its minor: they have joined since.
func (t *target) derive(r *reading) (kind v1alpha1.UpgradeType, from string) {
	switch {
	case t.reboot:
		return v1alpha1.TypeReboot, ""
	case t.certificates:
		return v1alpha1.TypeCertificates, ""
	case t.back:
		return v1alpha1.TypeRollback, r.newestTaken(t)
	}
	kind = v1alpha1.TypePatch
	oldest := version.Version{}
	otherMinor := func(pod clusterstate.StaticPod) bool { return !parsed(pod.Version).SameLine(t.to) }
	servers := r.ownAPIServers(t)
	sameMinor := slices.DeleteFunc(r.onControlPlanes(servers), otherMinor)
	automatic := t.isByCoordinator() && t.Spec.Type == v1alpha1.TypePatch && len(sameMinor) > 0
	stuck := func(n *node) bool { return t.isStuck(n, r.now) || automatic && !n.runs.kubelet.SameLine(t.to) }
	some := slices.ContainsFunc(r.nodes, func(n *node) bool { return t.concerns(n) && !stuck(n) })
	for _, n := range r.nodes {
		if !t.concerns(n) || some && stuck(n) {
			continue
		}
		if from == "" || n.runs.kubelet.Less(oldest) {
			oldest, from = *n.runs.kubelet, n.runs.kubelet.String()
		}
	}
	if !oldest.SameLine(t.to) || !automatic && slices.ContainsFunc(servers, otherMinor) {
		kind = v1alpha1.TypeMinor
	}
	return kind, from
}

// isByCoordinator reports whether the coordinator has created the upgrade.
func (t *target) isByCoordinator() bool {
	return t.Annotations[v1alpha1.CreatedByAnnotation] == v1alpha1.CreatedByCoordinator
}

// typeForbidden holds an upgrade whose type differs from its spec's, or whose method is
// not for its type.
func typeForbidden(r *reading, t *target) clusterstate.Hold {
	var message string
	switch kind, from := t.derive(r); {
	case t.Spec.Type != "" && t.Spec.Type != kind:
		message = fmt.Sprintf("type is %s, but from %s to %s is a %s", t.Spec.Type, from, t.to, kind)
	case t.Spec.Strategy.Method == v1alpha1.MethodRestart && kind == v1alpha1.TypeMinor:
		message = fmt.Sprintf("strategy.method Restart is for patches, and from %s to %s is a %s; use Reboot or SoftReboot", from, t.to, kind)
	default:
		return clusterstate.Hold{}
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonUpgradeInvalid, Message: message, Stays: true}
}
