package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules/rebootmanager"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// rulesTimeout limits what is read for the rules. The node does not begin while the API server does not
// answer, and the status should say so soon.
const rulesTimeout = 15 * time.Second

// source is something that is read live for a rule: a broken watch may still show a window that closed long ago.
type source struct {
	name string // for docs/node.md; empty: nothing is read
	read func(context.Context, *question) error
}

func (s source) readFor(ctx context.Context, q *question) error {
	if s.read == nil {
		return nil
	}
	return s.read(ctx, q)
}

var (
	thePolicy      = source{"the UpgradePolicy", readPolicy}
	lastStaging    = source{"the host's last request to stage", readStaging}
	theUpgrade     = source{"the ClusterUpgrade", readUpgrade}
	schedules      = source{"the MaintenanceSchedules", readSchedules}
	theOrder       = source{"the NodeUpgrade", readOrder}
	theSlot        = source{"the slot's Lease", readSlot}
	apiServers     = source{"the kube-apiservers' pods, where the minor changes", readAPIServers}
	theNode        = source{"the Node", readNode}
	rebootManagers = source{"the DaemonSets", readManagers}
)

func readPolicy(ctx context.Context, q *question) (err error) {
	q.policy, err = q.config.livePolicy(ctx)
	return err
}

func readStaging(_ context.Context, q *question) error {
	if q.policy.Spec.Source.Keyring == "" || !q.Spec.Type.HasVersion() {
		return nil
	}
	request, err := q.config.Host.LastRequest(verb.Stage)
	if err != nil || request == nil {
		return err
	}
	if err := json.Unmarshal(request.Args, &q.staged); err != nil {
		return fmt.Errorf("decoding how the image was staged: %w", err)
	}
	return nil
}

func readUpgrade(ctx context.Context, q *question) (err error) {
	q.upgrade, err = q.config.upgradeOf(ctx, q.Spec.Upgrade)
	return err
}

func readSchedules(ctx context.Context, q *question) error {
	list, err := q.config.Upgrades.MaintenanceSchedules.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing maintenance schedules: %w", err)
	}
	q.schedules = list.Items
	return nil
}

func readOrder(ctx context.Context, q *question) (err error) {
	q.live, err = q.config.liveOrder(ctx)
	return err
}

func readSlot(ctx context.Context, q *question) error {
	if q.Slot.Held == "" {
		return nil
	}
	lease, err := q.config.Account.Leases(v1alpha1.Namespace).Get(ctx, q.Slot.Held, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading slot %s: %w", q.Slot.Held, err)
	}
	held, err := slot.FromLease(lease)
	q.holder = held.Holder
	return err
}

func readAPIServers(ctx context.Context, q *question) error {
	if !q.Spec.Type.HasVersion() || !comparesAPIServers(q.Observation, rules.ClusterAPIDecides(q.policy)) {
		return nil
	}
	pods, err := q.config.Account.Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "component=kube-apiserver"})
	if err != nil {
		return fmt.Errorf("listing the apiservers: %w", err)
	}
	q.apiServers = pods.Items
	return nil
}

func readNode(ctx context.Context, q *question) error {
	node, err := q.config.Kubelet.Nodes().Get(ctx, q.node.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading node %s: %w", q.node.Name, err)
	}
	q.labels = node.Labels
	return nil
}

// readManagers determines whether kured or FLUO also reboots nodes, which the coordinator may
// not have noticed yet. It reads the DaemonSets, of which there are few, and this Node, but
// not all Nodes: 5,000 agents would each read 5,000 of them. If a lock is held that does not
// count yet, it also looks for a pod of kured on this node.
func readManagers(ctx context.Context, q *question) error {
	list, err := q.config.Account.DaemonSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing DaemonSets, to see whether another program reboots nodes: %w", err)
	}
	daemonSets := make([]*appsv1.DaemonSet, len(list.Items))
	q.daemonSets = map[types.NamespacedName]bool{} // for the drain, which begins soon
	for i := range list.Items {
		daemonSets[i] = &list.Items[i]
		q.daemonSets[types.NamespacedName{Namespace: daemonSets[i].Namespace, Name: daemonSets[i].Name}] = true
	}
	var problem error
	named := q.policy.RebootManagers()
	active := rebootmanager.Active([]*corev1.Node{q.node}, daemonSets, named)
	if len(active) == 0 && rebootmanager.LockHeld(daemonSets) {
		pods, err := q.config.Kubelet.Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + q.node.Name})
		if err != nil {
			return fmt.Errorf("listing this node's pods, to see whether kured runs: %w", err)
		}
		named = slices.Concat(named, rebootmanager.OfFormerPods(daemonSets, pods.Items))
		active = rebootmanager.Active([]*corev1.Node{q.node}, daemonSets, named)
	}
	q.manager = rules.OtherManager(active, q.upgrade.Spec, q.controlPlane, func(name string) bool {
		left, err := q.config.leaves(ctx, name)
		problem = errors.Join(problem, err)
		return left
	})
	return problem
}

// leaves reports whether the node of that name is not managed, and holds no slot. Nothing is
// known about a node without a NodeUpgrade: it may be a managed one that has just joined.
func (c *Config) leaves(ctx context.Context, name string) (bool, error) {
	other, err := c.Upgrades.NodeUpgrades.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading NodeUpgrade %s, to see whether its node is managed: %w", name, err)
	}
	return !other.Spec.Managed && other.Status.Slot == "", nil
}
