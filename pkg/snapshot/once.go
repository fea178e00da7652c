package snapshot

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/client"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rebootmanager"
)

// Clients are the clients that read a snapshot.
type Clients struct {
	Core       corev1client.CoreV1Interface
	DaemonSets appsv1client.DaemonSetsGetter
	Leases     coordinationv1client.LeasesGetter
	Ours       *client.Interface
}

// Read takes one snapshot by listing, for a program that needs only one. The
// snapshot has no Source. The error names what could not be read.
func Read(ctx context.Context, c Clients) (fleet.Snapshot, error) {
	var s fleet.Snapshot
	nodes, err := readAll[corev1.Node](ctx, "Nodes", c.Core.Nodes().List, "")
	if err != nil {
		return s, err
	}
	for i := range nodes {
		s.Nodes = append(s.Nodes, Node(&nodes[i]))
	}
	daemonSets, err := readAll[appsv1.DaemonSet](ctx, "DaemonSets", c.DaemonSets.DaemonSets(metav1.NamespaceAll).List, "")
	if err != nil {
		return s, err
	}
	s.RebootManagers = rebootmanager.Active(pointers(nodes), pointers(daemonSets))
	if err := readOurs(ctx, c.Ours, &s); err != nil {
		return s, err
	}
	leases, err := readAll[coordinationv1.Lease](ctx, "Leases in namespace "+v1alpha1.Namespace, c.Leases.Leases(v1alpha1.Namespace).List, "")
	if err != nil {
		return s, err
	}
	s.Slots = slots(pointers(leases))
	pods, err := readAll[corev1.Pod](ctx, "Pods in namespace "+systemNamespace, c.Core.Pods(systemNamespace).List, controlPlanePods)
	addStaticPods(&s, pointers(pods))
	return s, err
}

func readOurs(ctx context.Context, ours *client.Interface, s *fleet.Snapshot) (err error) {
	if s.NodeUpgrades, err = readAll[v1alpha1.NodeUpgrade](ctx, "NodeUpgrades", ours.NodeUpgrades.List, ""); err != nil {
		return err
	}
	if s.Inventories, err = readAll[v1alpha1.NodeInventory](ctx, "NodeInventories", ours.NodeInventories.List, ""); err != nil {
		return err
	}
	if s.Upgrades, err = readAll[v1alpha1.ClusterUpgrade](ctx, "ClusterUpgrades", ours.ClusterUpgrades.List, ""); err != nil {
		return err
	}
	if s.Records, err = readAll[v1alpha1.UpgradeRecord](ctx, "UpgradeRecords", ours.UpgradeRecords.List, ""); err != nil {
		return err
	}
	if s.Schedules, err = readAll[v1alpha1.MaintenanceSchedule](ctx, "MaintenanceSchedules", ours.MaintenanceSchedules.List, ""); err != nil {
		return err
	}
	s.Policy, err = readPolicy(ctx, ours)
	return err
}

// readPolicy returns the UpgradePolicy named cluster, or nil where there is none.
func readPolicy(ctx context.Context, ours *client.Interface) (*v1alpha1.UpgradePolicy, error) {
	policy, err := ours.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading UpgradePolicy %s: %w", v1alpha1.PolicyName, err)
	}
	trim(policy)
	return policy, nil
}

// readAll lists all objects of a kind that the labels select, trimmed.
func readAll[T any, L runtime.Object](ctx context.Context, kind string, page func(context.Context, metav1.ListOptions) (L, error), labels string) ([]T, error) {
	all, err := listed(ctx, page, metav1.ListOptions{LabelSelector: labels}, func(object *T) T {
		trim(object)
		return *object
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", kind, err)
	}
	return all, nil
}

func pointers[T any](values []T) []*T {
	list := make([]*T, len(values))
	for i := range values {
		list[i] = &values[i]
	}
	return list
}
