package watch

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/management"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/workload"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Sweep takes back what was asked for Machines that were deleted while no replica ran, and deletes
// upgrades to versions that no object has any more.
type Sweep struct {
	Management client.Reader
	Open       func(context.Context, types.NamespacedName) (workload.Cluster, error)
	// Used lists the workload clusters that were used since the start.
	Used func() []types.NamespacedName
	Log  *slog.Logger
	// Timeout is how long the sweep of a cluster may take.
	Timeout time.Duration
}

// Run sweeps all clusters at the start, and those that are used every interval, until ctx ends.
func (s *Sweep) Run(ctx context.Context, interval time.Duration) {
	var list clusterv1.ClusterList
	if err := s.Management.List(ctx, &list); err != nil {
		s.Log.WarnContext(ctx, "the Clusters are not listed", "error", err)
	}
	var clusters []types.NamespacedName
	for i := range list.Items {
		clusters = append(clusters, client.ObjectKeyFromObject(&list.Items[i]))
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		for _, name := range clusters {
			if err := s.sweep(ctx, name); err != nil {
				s.Log.DebugContext(ctx, "a cluster is not swept", "cluster", name.String(), "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			clusters = s.Used()
		}
	}
}

func (s *Sweep) sweep(ctx context.Context, name types.NamespacedName) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	var live clusterv1.Cluster
	if err := s.Management.Get(ctx, name, &live); err != nil {
		return fmt.Errorf("reading Cluster %s: %w", name, err)
	}
	if ptr.Deref(live.Spec.Paused, false) {
		return nil // clusterctl move: its Machines may be on their way
	}
	cluster, err := s.Open(ctx, name)
	if err != nil {
		return err
	}
	upgrades, err := cluster.Upgrades(ctx)
	if err != nil {
		return err
	}
	open := slices.DeleteFunc(slices.Clone(upgrades), func(u v1alpha1.ClusterUpgrade) bool {
		return u.Status.Outcome != "" || !workload.Ours(upgrades, &u)
	})
	if len(open) == 0 {
		return nil
	}
	if err := s.withdrawUnwanted(ctx, cluster, open); err != nil {
		return err
	}
	return s.deleteUnwanted(ctx, cluster, &live)
}

// withdrawUnwanted takes back the requests in these upgrades for nodes whose Machines are not updated now.
func (s *Sweep) withdrawUnwanted(ctx context.Context, cluster workload.Cluster, open []v1alpha1.ClusterUpgrade) error {
	machines, err := management.Machines(ctx, s.Management, cluster.Name, nil)
	if err != nil {
		return err
	}
	updated := map[string]bool{}
	for i := range machines {
		if m := &machines[i]; m.DeletionTimestamp.IsZero() && management.Updating(m) {
			updated[m.Status.NodeRef.Name] = true
		}
	}
	nodes, err := cluster.NodeUpgrades(ctx)
	if err != nil {
		return err
	}
	for name, n := range nodes {
		requested := slices.ContainsFunc(open, func(u v1alpha1.ClusterUpgrade) bool { return n.RequestedFor(u.UID) })
		if updated[name] || !requested {
			continue
		}
		if _, err := cluster.Withdraw(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// deleteUnwanted deletes the upgrades that no node is asked for, or has begun, and whose version no object has: the change
// that asked for it was taken back.
func (s *Sweep) deleteUnwanted(ctx context.Context, cluster workload.Cluster, live *clusterv1.Cluster) error {
	owners, err := management.Owners(ctx, s.Management, cluster.Name)
	if err != nil {
		return err
	}
	upgrades, err := cluster.Upgrades(ctx)
	if err != nil {
		return err
	}
	nodes, err := cluster.NodeUpgrades(ctx)
	if err != nil {
		return err
	}
	for i := range upgrades {
		u := &upgrades[i]
		if u.Status.Outcome != "" || u.Labels[workload.Label] != workload.LabelValue || wanted(u.Spec.Version, owners, live) || begun(u, nodes) {
			continue
		}
		if err := cluster.Delete(ctx, u); err != nil {
			return err
		}
		s.Log.InfoContext(ctx, "nobody wants an upgrade any more, and it is deleted", "cluster", cluster.Name.String(), "upgrade", u.Name)
	}
	return nil
}

// wanted reports whether an owner of machines has a version, or is to get it on its way to the version
// of the cluster's topology.
func wanted(to string, owners []management.Owner, live *clusterv1.Cluster) bool {
	return slices.ContainsFunc(owners, func(o management.Owner) bool {
		return o.Version == to || version.AtLeast(live.Spec.Topology.Version, to) && !version.AtLeast(o.Version, to)
	})
}

// begun reports whether a node is asked for in an upgrade, has begun it, or failed in it.
func begun(u *v1alpha1.ClusterUpgrade, nodes map[string]*v1alpha1.NodeUpgrade) bool {
	for _, n := range nodes {
		of := n.Status.Upgrade
		if n.RequestedFor(u.UID) {
			return true
		}
		if of != nil && of.UID == string(u.UID) && n.Status.Step.Info().Phase != v1alpha1.PhaseInService && n.Status.Step.Info().Phase != v1alpha1.PhaseUnsupported {
			return true
		}
	}
	return false
}
