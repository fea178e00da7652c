package snapshot

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/client"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// Clients read what a snapshot is made of.
type Clients struct {
	Core       corev1client.CoreV1Interface
	DaemonSets appsv1client.DaemonSetsGetter
	Leases     coordinationv1client.LeasesGetter
	Ours       *client.Interface
}

// Read takes one snapshot by listing, as who asks once does. Source and
// Strategy are not in it: they are the coordinator's configuration. The error
// names what could not be read.
func Read(ctx context.Context, c Clients) (plan.Snapshot, error) {
	var s plan.Snapshot
	nodes, err := c.Core.Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, fmt.Errorf("reading Nodes: %w", err)
	}
	for i := range nodes.Items {
		s.Nodes = append(s.Nodes, Node(&nodes.Items[i]))
	}
	daemonSets, err := c.DaemonSets.DaemonSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, fmt.Errorf("reading DaemonSets: %w", err)
	}
	s.RebootManagers = RebootManagers(pointers(nodes.Items), pointers(daemonSets.Items))
	if err := readOurs(ctx, c.Ours, &s); err != nil {
		return s, err
	}
	leases, err := c.Leases.Leases(v1alpha1.Namespace).List(ctx, metav1.ListOptions{LabelSelector: slot.LabelSelector})
	if err != nil {
		return s, fmt.Errorf("reading Leases in namespace %s: %w", v1alpha1.Namespace, err)
	}
	for _, lease := range pointers(leases.Items) {
		s.Slots = append(s.Slots, Slot(lease))
	}
	pods, err := c.Core.Pods(systemNamespace).List(ctx, metav1.ListOptions{LabelSelector: controlPlanePods})
	if err != nil {
		return s, fmt.Errorf("reading Pods in namespace %s: %w", systemNamespace, err)
	}
	s.APIServers, s.Etcd = staticPods(pointers(pods.Items))
	return s, nil
}

func readOurs(ctx context.Context, ours *client.Interface, s *plan.Snapshot) error {
	nodeUpgrades, err := ours.NodeUpgrades.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading NodeUpgrades: %w", err)
	}
	upgrades, err := ours.ClusterUpgrades.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading ClusterUpgrades: %w", err)
	}
	schedules, err := ours.MaintenanceSchedules.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading MaintenanceSchedules: %w", err)
	}
	for _, one := range nodeUpgrades.Items {
		one.ManagedFields = nil
		s.NodeUpgrades = append(s.NodeUpgrades, one)
	}
	for _, one := range upgrades.Items {
		one.ManagedFields = nil
		s.Upgrades = append(s.Upgrades, one)
	}
	for _, one := range schedules.Items {
		one.ManagedFields = nil
		s.Schedules = append(s.Schedules, one)
	}
	return nil
}

func pointers[T any](values []T) []*T {
	list := make([]*T, len(values))
	for i := range values {
		list[i] = &values[i]
	}
	return list
}
