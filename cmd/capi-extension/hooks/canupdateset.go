package hooks

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/cover"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/management"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/progress"
)

// CanUpdateMachineSet answers whether the machines of a MachineSet can be updated in place. The answer
// does not depend on windows and the like, because Cluster API keeps it for a day: UpdateMachine asks
// for each machine.
func (e *Extension) CanUpdateMachineSet(ctx context.Context, request *question, response *runtimehooksv1.CanUpdateMachineSetResponse) {
	response.Status = runtimehooksv1.ResponseStatusSuccess
	answer, err := e.canUpdateMachineSet(ctx, request, true)
	if err != nil {
		response.Status, response.Message = runtimehooksv1.ResponseStatusFailure, e.sentence(ctx, err)
		return
	}
	response.MachineSetPatch = patch(answer.Machine)
	response.BootstrapConfigTemplatePatch = patch(answer.Bootstrap)
	response.InfrastructureMachineTemplatePatch = patch(answer.Infrastructure)
}

func (e *Extension) canUpdateMachineSet(ctx context.Context, request *question, first bool) (cover.Answer, error) {
	var set clusterv1.MachineSet
	name, err := request.object.key()
	if err != nil {
		return cover.Answer{}, err
	}
	if err := e.Management.Get(ctx, name, &set); err != nil {
		if apierrors.IsNotFound(err) {
			return cover.Answer{}, refuse("there is no MachineSet %s", name)
		}
		return cover.Answer{}, fmt.Errorf("reading MachineSet %s: %w", name, err)
	}
	owner, err := management.OwnerOf(ctx, e.Management, &set)
	if err != nil {
		return cover.Answer{}, err
	}
	answer, err := e.machineSet(ctx, request, &set, owner)
	if first {
		kept := request.again()
		e.keep(ctx, err, &set, owner, func(ctx context.Context) error {
			_, err := e.canUpdateMachineSet(ctx, kept, false)
			return err
		})
	}
	return answer, err
}

func (e *Extension) machineSet(ctx context.Context, request *question, set *clusterv1.MachineSet, owner management.Owner) (cover.Answer, error) {
	step, answer, replace, err := e.covered(owner, request)
	if err != nil || replace {
		return cover.Answer{}, err
	}
	return answer, e.machinesCanGo(ctx, set, step)
}

// machinesCanGo refuses a MachineSet of which a node can never be upgraded in place. Its upgrade is made,
// so that images are staged.
func (e *Extension) machinesCanGo(ctx context.Context, set *clusterv1.MachineSet, step cover.Step) error {
	name := client.ObjectKey{Namespace: set.Namespace, Name: set.Spec.ClusterName}
	cluster, err := e.open(ctx, name)
	if err != nil {
		return err
	}
	if step.From != step.To {
		if _, err := cluster.Ensure(ctx, step.To); err != nil {
			return err
		}
	}
	machines, err := management.Machines(ctx, e.Management, name, map[string]string{clusterv1.MachineSetNameLabel: set.Name})
	if err != nil {
		return err
	}
	orders, err := cluster.NodeUpgrades(ctx)
	if err != nil {
		return err
	}
	for _, machine := range machines {
		if name := machine.Status.NodeRef.Name; name != "" {
			if able := progress.Able(name, orders[name]); able.State == progress.Waits {
				return refuse("%s", able.Message)
			}
		}
	}
	return nil
}
