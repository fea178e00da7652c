package hooks

import (
	"cmp"
	"context"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/management"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/progress"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// retryBefore is after how many seconds Cluster API asks again whether a part of a cluster with a
// ClusterClass may get a new version.
const retryBefore = 30

// BeforeClusterUpgrade has an upgrade of a cluster with a ClusterClass wait until a control plane's node
// may go: this waits without an error, and Cluster API shows why.
func (e *Extension) BeforeClusterUpgrade(ctx context.Context, request *runtimehooksv1.BeforeClusterUpgradeRequest, response *runtimehooksv1.BeforeClusterUpgradeResponse) {
	to := request.ToKubernetesVersion
	if len(request.ControlPlaneUpgrades) > 0 {
		to = request.ControlPlaneUpgrades[0].Version // the first of several minors
	}
	e.before(ctx, &request.Cluster, to, true, &response.CommonRetryResponse)
}

// BeforeControlPlaneUpgrade has the control plane wait in the same way.
func (e *Extension) BeforeControlPlaneUpgrade(ctx context.Context, request *runtimehooksv1.BeforeControlPlaneUpgradeRequest, response *runtimehooksv1.BeforeControlPlaneUpgradeResponse) {
	e.before(ctx, &request.Cluster, request.ToKubernetesVersion, true, &response.CommonRetryResponse)
}

// BeforeWorkersUpgrade has the workers wait until one of them may go.
func (e *Extension) BeforeWorkersUpgrade(ctx context.Context, request *runtimehooksv1.BeforeWorkersUpgradeRequest, response *runtimehooksv1.BeforeWorkersUpgradeResponse) {
	e.before(ctx, &request.Cluster, request.ToKubernetesVersion, false, &response.CommonRetryResponse)
}

func (e *Extension) before(ctx context.Context, cluster *clusterv1.Cluster, to string, controlPlane bool, response *runtimehooksv1.CommonRetryResponse) {
	response.Status = runtimehooksv1.ResponseStatusSuccess
	if err := e.someMayGo(ctx, client.ObjectKeyFromObject(cluster), to, controlPlane); err != nil {
		response.Message, response.RetryAfterSeconds = e.sentence(ctx, err), retryBefore
	}
}

// someMayGo refuses the control planes, or the workers, of a cluster if each of them would have to wait.
func (e *Extension) someMayGo(ctx context.Context, name client.ObjectKey, wanted string, controlPlane bool) error {
	to, err := version.Parse(wanted)
	if err != nil {
		return refuse("the version of Cluster %s: %s", name, err)
	}
	live, err := e.cluster(ctx, name)
	if err != nil {
		return err
	}
	if !version.AtLeast(live.Spec.Topology.Version, to.String()) {
		return refuse("Cluster %s was changed meanwhile: it wants %s, and the request is about %s", name, live.Spec.Topology.Version, to)
	}
	machines, err := management.Machines(ctx, e.Management, name, nil)
	if err != nil {
		return err
	}
	machines = slices.DeleteFunc(machines, func(m clusterv1.Machine) bool {
		return management.OnControlPlane(&m) != controlPlane || !m.Status.NodeRef.IsDefined() || m.Spec.Version == to.String()
	})
	if len(machines) == 0 {
		return nil
	}
	slices.SortFunc(machines, func(a, b clusterv1.Machine) int { return cmp.Compare(a.Name, b.Name) })
	workload, err := e.open(ctx, name)
	if err != nil {
		return err
	}
	upgrade, err := workload.Ensure(ctx, to)
	if err != nil {
		return err
	}
	var first progress.Verdict
	for i := range machines {
		verdict, _, err := look(ctx, workload, &machines[i], to, upgrade)
		if err != nil {
			return err
		}
		switch verdict.State {
		case progress.Next, progress.AtWork, progress.Done:
			return nil
		}
		if i == 0 {
			first = verdict
		}
	}
	return wait(first)
}
