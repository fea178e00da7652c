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
func (e *Extension) BeforeClusterUpgrade(ctx context.Context, request *beforeRequest, response *runtimehooksv1.BeforeClusterUpgradeResponse) {
	to := request.ToKubernetesVersion
	if len(request.ControlPlaneUpgrades) > 0 {
		to = request.ControlPlaneUpgrades[0].Version // the first of several minors
	}
	e.before(ctx, request.Cluster, to, true, &response.CommonRetryResponse)
}

// BeforeControlPlaneUpgrade has the control plane wait in the same way.
func (e *Extension) BeforeControlPlaneUpgrade(ctx context.Context, request *beforeRequest, response *runtimehooksv1.BeforeControlPlaneUpgradeResponse) {
	e.before(ctx, request.Cluster, request.ToKubernetesVersion, true, &response.CommonRetryResponse)
}

// BeforeWorkersUpgrade has the workers wait until one of them may go.
func (e *Extension) BeforeWorkersUpgrade(ctx context.Context, request *beforeRequest, response *runtimehooksv1.BeforeWorkersUpgradeResponse) {
	e.before(ctx, request.Cluster, request.ToKubernetesVersion, false, &response.CommonRetryResponse)
}

func (e *Extension) before(ctx context.Context, cluster named, to string, controlPlane bool, response *runtimehooksv1.CommonRetryResponse) {
	response.Status = runtimehooksv1.ResponseStatusSuccess
	name, err := cluster.key()
	if err == nil {
		err = e.someMayGo(ctx, name, to, controlPlane)
	}
	if err != nil {
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
	if err := e.onTheWay(ctx, live, to, controlPlane); err != nil {
		return err
	}
	machines, err := management.Machines(ctx, e.Management, name, nil)
	if err != nil {
		return err
	}
	machines = slices.DeleteFunc(machines, func(m clusterv1.Machine) bool {
		return management.OnControlPlane(&m) != controlPlane || !m.Status.NodeRef.IsDefined() || version.Reached(m.Spec.Version, to)
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

// onTheWay refuses a version that neither an owner of the cluster's machines has, nor one of the control
// planes, or workers, gets next on its way to the Cluster's: an upgrade is made for it.
func (e *Extension) onTheWay(ctx context.Context, cluster *clusterv1.Cluster, to version.Version, controlPlane bool) error {
	name := client.ObjectKeyFromObject(cluster)
	wanted, err := version.Parse(cluster.Spec.Topology.Version)
	if err != nil || wanted.Less(to) {
		return refuse("Cluster %s was changed meanwhile: it wants %s, and the request is about %s", name, cluster.Spec.Topology.Version, to)
	}
	owners, err := management.Owners(ctx, e.Management, name)
	if err != nil {
		return err
	}
	for _, owner := range owners {
		has, err := version.Parse(owner.Version)
		if err != nil {
			continue
		}
		if has == to || (owner.Kind == management.KindControlPlane) == controlPlane && isNext(has, to, wanted) {
			return nil
		}
	}
	return refuse("no KubeadmControlPlane or MachineDeployment of Cluster %s has %s, or gets it next on its way to %s", name, to, wanted)
}

// isNext reports whether to is one step from the version that an owner has to the wanted one: Cluster API stops at
// a patch of each minor in between.
func isNext(has, to, wanted version.Version) bool {
	if !has.Less(to) || version.CheckStep(has, to) != nil {
		return false
	}
	return to == wanted || !to.SameLine(has) && !to.SameLine(wanted)
}
