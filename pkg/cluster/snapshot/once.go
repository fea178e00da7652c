package snapshot

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules/rebootmanager"
)

// Clients are the clients that read a cluster.
type Clients struct {
	Kube kubernetes.Interface
	// Ours reads the project's kinds. Nil: ReadPreflight does not read them. It reads no policy if it has Policy.
	Ours   *kube.Kinds
	Policy *v1alpha1.UpgradePolicy
	// Access is how these two reach the API server. ReadPreflight reads the metrics of each
	// apiserver with the same credentials.
	Access *rest.Config
	// PageSize is how many Nodes and pods are read at a time; zero: 500, as in client-go. Each page is requested
	// when the one before has come, and is held in memory as a whole.
	PageSize int64
	// Lists are the lists that Read and ReadPreflight share, or that a Reader has read for ReadPreflight. Nil:
	// each reads its own.
	Lists *Lists
}

// Read takes one snapshot by listing all kinds at once, for a program that needs only one.
// The snapshot has no Source. The error names what could not be read.
func Read(ctx context.Context, c Clients) (clusterstate.Snapshot, error) {
	var (
		s          clusterstate.Snapshot
		nodes      []corev1.Node
		daemonSets []appsv1.DaemonSet
		leases     []coordinationv1.Lease
		pods       []corev1.Pod
		agents     []corev1.Pod
	)
	k := &kinds{}
	k.Go(func() error { return c.readNodes(ctx, &nodes) })
	read(ctx, k, &daemonSets, "DaemonSets", c.Kube.AppsV1().DaemonSets(metav1.NamespaceAll).List, "")
	read(ctx, k, &leases, "Leases in namespace "+v1alpha1.Namespace, c.Kube.CoordinationV1().Leases(v1alpha1.Namespace).List, "")
	read(ctx, k, &pods, "Pods in namespace "+systemNamespace, c.Kube.CoreV1().Pods(systemNamespace).List, controlPlanePods)
	read(ctx, k, &agents, "Pods in namespace "+v1alpha1.Namespace, c.Kube.CoreV1().Pods(v1alpha1.Namespace).List, agentPods)
	k.Go(func() error { return c.readUpgrades(ctx, &s.Upgrades) })
	readOurs(ctx, k, c.Ours, &s)
	if err := k.Wait(); err != nil {
		return s, err
	}
	for i := range nodes {
		s.Nodes = append(s.Nodes, Node(&nodes[i]))
	}
	addAgents(&s, pointers(daemonSets), pointers(nodes), pointers(agents))
	s.Slots = slots(pointers(leases))
	s.RebootManagers = rebootmanager.Active(pointers(nodes), pointers(daemonSets), s.Policy.RebootManagers(), s.Slots...)
	addStaticPods(&s, pointers(pods))
	return s, nil
}

func readOurs(ctx context.Context, k *kinds, ours *kube.Kinds, s *clusterstate.Snapshot) {
	readKind(ctx, k, &s.NodeUpgrades, "NodeUpgrades", ours.NodeUpgrades)
	readKind(ctx, k, &s.Inventories, "NodeInventories", ours.NodeInventories)
	readKind(ctx, k, &s.Records, "UpgradeRecords", ours.UpgradeRecords)
	read(ctx, k, &s.Schedules, "MaintenanceSchedules", ours.MaintenanceSchedules.List, "")
	k.Go(func() (err error) {
		s.Policy, err = readPolicy(ctx, ours)
		return err
	})
}

// readPolicy returns the UpgradePolicy named cluster, or nil where there is none.
func readPolicy(ctx context.Context, ours *kube.Kinds) (*v1alpha1.UpgradePolicy, error) {
	policy, err := ours.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, &Unreadable{"UpgradePolicy " + v1alpha1.PolicyName, err}
	}
	trim(policy)
	return policy, nil
}

func pointers[T any](values []T) []*T {
	list := make([]*T, len(values))
	for i := range values {
		list[i] = &values[i]
	}
	return list
}

// Snapshot returns the cluster from memory. The caller must not change what the
// snapshot points to.
func (r *Reader) Snapshot() clusterstate.Snapshot {
	nodes, daemonSets := sorted[*corev1.Node](r.nodes), sorted[*appsv1.DaemonSet](r.daemonSets)
	s := clusterstate.Snapshot{
		NodeUpgrades: values(sorted[*v1alpha1.NodeUpgrade](r.nodeUpgrades)),
		Inventories:  values(sorted[*v1alpha1.NodeInventory](r.inventories)),
		Upgrades:     values(sorted[*v1alpha1.ClusterUpgrade](r.upgrades)),
		Records:      values(sorted[*v1alpha1.UpgradeRecord](r.records)),
		Schedules:    values(sorted[*v1alpha1.MaintenanceSchedule](r.schedules)),
		Policy:       r.Policy(),
		State:        r.State(),
		Slots:        slots(sorted[*coordinationv1.Lease](r.leases)),
		Webhooks:     r.webhooks(),
	}
	s.Deleted = r.deleted.unrecorded(s.Records)
	s.RebootManagers = rebootmanager.Active(nodes, daemonSets, s.Policy.RebootManagers(), s.Slots...)
	for _, n := range nodes {
		s.Nodes = append(s.Nodes, Node(n))
	}
	addAgents(&s, daemonSets, nodes, sorted[*corev1.Pod](r.agents))
	addStaticPods(&s, sorted[*corev1.Pod](r.pods))
	return s
}

// Policy returns the UpgradePolicy named cluster from memory, or nil.
func (r *Reader) Policy() *v1alpha1.UpgradePolicy { return first[*v1alpha1.UpgradePolicy](r.policies) }

// State returns the CoordinatorState from memory, or nil.
func (r *Reader) State() *v1alpha1.CoordinatorState {
	return first[*v1alpha1.CoordinatorState](r.states)
}

// first returns the object of an informer that watches one; nil: there is none.
func first[T metav1.Object](informer cache.SharedIndexInformer) (object T) {
	if list := sorted[T](informer); len(list) > 0 {
		return list[0]
	}
	return object
}

// Lease returns the Lease of that name in our namespace from memory, or nil.
func (r *Reader) Lease(name string) *coordinationv1.Lease {
	object, _, _ := r.leases.GetStore().GetByKey(v1alpha1.Namespace + "/" + name)
	lease, _ := object.(*coordinationv1.Lease)
	return lease
}

// sorted returns what an informer knows, sorted by name, so that equal clusters
// give equal snapshots. Without an informer, nothing is known.
func sorted[T metav1.Object](informer cache.SharedIndexInformer) []T {
	var list []T
	if informer == nil {
		return nil
	}
	for _, object := range informer.GetStore().List() {
		if one, ok := object.(T); ok {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	return list
}

func values[T any](pointers []*T) []T {
	list := make([]T, len(pointers))
	for i, one := range pointers {
		list[i] = *one
	}
	return list
}
