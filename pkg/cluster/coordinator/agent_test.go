package coordinator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// outages records which nodes are out of service, how many at once and in which order.
type outages struct {
	sync.Mutex
	down                    map[string]bool
	most, mostControlPlanes int
	order                   []string
}

func (t *outages) begin(node string) {
	t.Lock()
	defer t.Unlock()
	if t.down == nil {
		t.down = map[string]bool{}
	}
	t.down[node] = true
	controlPlanes := 0
	for name := range t.down {
		if strings.HasPrefix(name, "cp") {
			controlPlanes++
		}
	}
	t.most, t.mostControlPlanes = max(t.most, len(t.down)), max(t.mostControlPlanes, controlPlanes)
	t.order = append(t.order, node)
}

func (t *outages) end(node string) {
	t.Lock()
	defer t.Unlock()
	delete(t.down, node)
}

// nodes returns the nodes that were out of service, in order.
func (t *outages) nodes() []string {
	t.Lock()
	defer t.Unlock()
	return slices.Clone(t.order)
}

// check checks how many nodes were out of service at once.
func (t *outages) check(c *cluster) {
	c.Helper()
	t.Lock()
	defer t.Unlock()
	if t.most > 2 || t.mostControlPlanes > 1 {
		c.Errorf("%d nodes and %d control planes were out of service at once, want at most 2 and 1", t.most, t.mostControlPlanes)
	}
}

// startAgent simulates a node's agent until the test ends: it stages at once, and its node
// is out of service briefly where a real one would be.
func (c *cluster) startAgent(name string) { c.startAgentWith(name, func(*agent) {}) }

func (c *cluster) startAgentWith(name string, change func(*agent)) {
	node, err := c.kube.CoreV1().Nodes().Get(c.Context(), name, metav1.GetOptions{})
	c.must(err)
	me := clusterstate.Owner{Node: name, UID: string(node.UID)}
	a := &agent{cluster: c, me: me, slots: slot.New(c.kube.CoordinationV1().Leases(v1alpha1.Namespace), c.kube.CoreV1().Nodes(), slot.Unwatched)}
	change(a)
	ended := make(chan struct{})
	ctx, stop := context.WithCancel(c.Context())
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			a.reconcile(ctx)
			time.Sleep(20 * time.Millisecond)
		}
	}()
	c.Cleanup(func() { stop(); <-ended })
}

// requiresReboot sets that the agent's operating system requires a reboot.
func requiresReboot(a *agent) {
	a.status.Reboot = v1alpha1.NodeReboot{Required: true, Message: "update_engine has installed an update"}
}

type agent struct {
	*cluster
	me      clusterstate.Owner
	slots   *slot.Slots
	status  v1alpha1.NodeUpgradeStatus
	written *v1alpha1.NodeFacts // the inventory
}

// reconcile reads the order and does what is next. Errors are retried.
func (a *agent) reconcile(ctx context.Context) {
	u, err := a.ours.NodeUpgrades.Get(ctx, a.me.Node, metav1.GetOptions{})
	if err != nil {
		return
	}
	spec := u.Spec
	if a.facts != nil {
		a.takeInventory(ctx, a.facts(a.me.Node))
	}
	if a.status.ObservedGeneration != u.Generation && a.status.Step != "" {
		a.status.ObservedGeneration = u.Generation
		if spec.Type == v1alpha1.TypeReboot && !a.status.Reboot.Required {
			a.status.Upgrade, a.status.Reboot = spec.Upgrade, v1alpha1.NodeReboot{} // it has looked
		}
		a.apply(ctx)
	}
	switch {
	case spec.Type == v1alpha1.TypeReboot && spec.Release == v1alpha1.ReleaseNode && a.status.Reboot.Required:
		a.work(ctx, func() error {
			a.status.Upgrade, a.status.Reboot = spec.Upgrade, v1alpha1.NodeReboot{FromBootID: "boot-0"}
			return a.reboot(ctx, "v1.34.3")
		})
	case spec.Type == v1alpha1.TypeReboot && !a.status.Reboot.Required:
		a.report(ctx, v1alpha1.StepIdle)
	case spec.Image == nil:
		a.report(ctx, v1alpha1.StepIdle)
	case a.status.Versions.Staged != spec.Version:
		a.status.Versions.Staged, a.status.Versions.Pulled = spec.Version, spec.Version
		a.report(ctx, v1alpha1.StepWaiting)
	case spec.Release == v1alpha1.ReleaseControlPlane && a.status.Versions.Kubeadm != spec.Version:
		a.work(ctx, func() error {
			if spec.EtcdSnapshotPolicy == v1alpha1.EtcdSnapshotRequired {
				a.status.EtcdSnapshot = &v1alpha1.EtcdSnapshot{Node: a.me.Node, Path: "/snapshot", Digest: v1alpha1.DigestOf(strings.Repeat("a", 64)), CreationTime: metav1.Now().Rfc3339Copy()}
			}
			a.status.Upgrade = spec.Upgrade
			a.status.Versions.Kubeadm = spec.Version
			return a.setAPIServer(ctx, spec.Version)
		})
	case spec.Release == v1alpha1.ReleaseNode && a.status.Versions.Kubelet != spec.Version:
		a.work(ctx, func() error {
			a.status.Versions.Kubelet = spec.Version
			return a.reboot(ctx, spec.Version)
		})
	case a.status.Step != v1alpha1.StepWaiting:
		a.report(ctx, v1alpha1.StepWaiting)
	}
}

// take takes the slot that the order names.
func (a *agent) take(ctx context.Context) (name string, err error) {
	u, err := a.ours.NodeUpgrades.Get(ctx, a.me.Node, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return u.Spec.Slot, a.slots.Take(ctx, u.Spec.Slot, a.me)
}

// work calls do while the node is out of service, if it gets its slot.
func (a *agent) work(ctx context.Context, do func() error) {
	name, err := a.take(ctx)
	if err != nil {
		return
	}
	a.outages.begin(a.me.Node)
	a.status.Slot = name
	a.report(ctx, v1alpha1.StepDraining)
	a.mark(ctx, name)
	if err := do(); err != nil && ctx.Err() == nil {
		a.Errorf("agent of %s: %v", a.me.Node, err)
	}
	time.Sleep(50 * time.Millisecond)
	a.mark(ctx, "")
	a.outages.end(a.me.Node)
	if err := a.slots.Free(ctx, name, a.me); err != nil && ctx.Err() == nil {
		a.Errorf("agent of %s: %v", a.me.Node, err)
	}
	a.status.Slot = ""
	a.report(ctx, v1alpha1.StepWaiting)
}

func (a *agent) report(ctx context.Context, step v1alpha1.Step) {
	if a.status.Step == step && step == v1alpha1.StepIdle {
		return
	}
	a.status.Step = step
	a.apply(ctx)
}

// takeInventory writes the inventory if it has changed.
func (a *agent) takeInventory(ctx context.Context, facts *v1alpha1.NodeFacts) {
	if a.written != nil && equality.Semantic.DeepEqual(a.written.Disks, facts.Disks) {
		return
	}
	a.written = facts
	object := &v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: a.me.Node}, NodeFacts: *facts}
	if _, err := a.ours.NodeInventories.Apply(ctx, object, "node-agent", ""); err != nil && ctx.Err() == nil {
		a.Errorf("agent of %s: %v", a.me.Node, err)
	}
}

// apply writes the agent's status.
func (a *agent) apply(ctx context.Context) {
	upToDate := metav1.Condition{Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: string(v1alpha1.ReasonAwaitingRelease), ObservedGeneration: a.status.ObservedGeneration}
	switch a.status.Step {
	case v1alpha1.StepIdle:
		upToDate.Status, upToDate.Reason = metav1.ConditionTrue, string(v1alpha1.ReasonNoUpgrade)
	case v1alpha1.StepDraining:
		upToDate.Reason = string(v1alpha1.ReasonDraining)
	}
	meta.SetStatusCondition(&a.status.Conditions, upToDate)
	object := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: a.me.Node}, Status: a.status}
	_, err := a.ours.NodeUpgrades.Apply(ctx, object, "node-agent", "status")
	if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) { // the coordinator may have just deleted it
		a.Errorf("agent of %s: %v", a.me.Node, err)
	}
}

func (a *agent) mark(ctx context.Context, slot string) {
	value := "null"
	if slot != "" {
		value = fmt.Sprintf("%q", slot)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}},"spec":{"unschedulable":%t}}`, v1alpha1.SlotAnnotation, value, slot != "")
	_, err := a.kube.CoreV1().Nodes().Patch(ctx, a.me.Node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil && ctx.Err() == nil {
		a.Errorf("agent of %s: %v", a.me.Node, err)
	}
}

func (a *agent) setAPIServer(ctx context.Context, version string) error {
	patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/containers/0/image","value":"registry.k8s.io/kube-apiserver:%s"}]`, version)
	_, err := a.kube.CoreV1().Pods("kube-system").Patch(ctx, "kube-apiserver-"+a.me.Node, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// reboot makes the node NotReady briefly, and Ready again at the version.
func (a *agent) reboot(ctx context.Context, version string) error {
	for _, ready := range []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue} {
		patch := fmt.Sprintf(`{"status":{"nodeInfo":{"kubeletVersion":%q,"bootID":"boot-1"},"conditions":[{"type":"Ready","status":%q}]}}`, version, ready)
		if _, err := a.kube.CoreV1().Nodes().Patch(ctx, a.me.Node, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
		time.Sleep(30 * time.Millisecond)
	}
	return nil
}
