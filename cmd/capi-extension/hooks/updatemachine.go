package hooks

import (
	"context"
	"errors"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/management"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/progress"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/workload"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Seconds after which Cluster API asks again. It asks no earlier, whatever happens to the Machine.
const (
	retryAtWork = 10
	retryWaits  = 20
)

// UpdateMachine brings a Machine's node to the version, as far as that is possible now. It is asked
// again and again until its answer is Success without retryAfterSeconds.
//
// It never answers Failure: Cluster API would then say nothing but "please check controller logs", while
// it shows the message of an answer with retryAfterSeconds.
func (e *Extension) UpdateMachine(ctx context.Context, request *updateRequest, response *runtimehooksv1.UpdateMachineResponse) {
	response.Status, response.RetryAfterSeconds = runtimehooksv1.ResponseStatusSuccess, retryWaits
	machine, to, err := e.machineToUpdate(ctx, request.Desired.Machine)
	if err != nil {
		response.Message = e.sentence(ctx, err)
		return
	}
	verdict, err := e.advance(ctx, machine, to)
	if err != nil {
		verdict = progress.Verdict{State: progress.Waits, Message: e.sentence(ctx, err)}
	}
	e.tell(ctx, machine, verdict)
	response.Message = verdict.Message
	switch verdict.State {
	case progress.Done:
		response.RetryAfterSeconds = 0
	case progress.AtWork:
		response.RetryAfterSeconds = retryAtWork
	}
}

// machineToUpdate reads a Machine that Cluster API updates in place now, and its new version.
func (e *Extension) machineToUpdate(ctx context.Context, asked named) (*clusterv1.Machine, version.Version, error) {
	machine, err := read[clusterv1.Machine](ctx, e, "Machine", asked)
	if err != nil {
		return nil, version.Version{}, err
	}
	name := client.ObjectKeyFromObject(machine)
	if !management.AwaitsUpdate(machine) {
		return nil, version.Version{}, refuse("Cluster API does not update Machine %s in place now", name)
	}
	to, err := version.Parse(machine.Spec.Version)
	if err != nil {
		return nil, version.Version{}, refuse("the version of Machine %s: %s", name, err)
	}
	return machine, to, nil
}

// advance does what can be done for a Machine now, and returns how far its node is.
func (e *Extension) advance(ctx context.Context, machine *clusterv1.Machine, to version.Version) (progress.Verdict, error) {
	name := management.ClusterOf(machine)
	if _, err := e.cluster(ctx, name); err != nil {
		return progress.Verdict{}, err
	}
	cluster, err := e.Open(ctx, name)
	if err != nil {
		return progress.Verdict{}, err
	}
	verdict, facts, err := look(ctx, cluster, machine, to, nil)
	if err != nil {
		return verdict, err
	}
	if verdict.State == progress.Done {
		return verdict, e.finish(ctx, cluster, machine)
	}
	if refused := e.mayStart(ctx, cluster, machine); refused != nil || !needsUpgrade(verdict) {
		return verdict, refused
	}
	upgrade, err := cluster.Ensure(ctx, to)
	if err != nil {
		return verdict, err
	}
	// Before the node is asked for: from then on it may be NotReady.
	if err := management.Mark(ctx, e.Management, machine); err != nil {
		return verdict, err
	}
	if management.ToBeReplaced(machine) {
		return verdict, errors.Join(toBeReplaced(machine), management.Unmark(ctx, e.Management, machine))
	}
	if err := cluster.Request(ctx, upgrade, facts.Node); err != nil {
		return verdict, err
	}
	verdict, _, err = look(ctx, cluster, machine, to, upgrade)
	if verdict.State == progress.Next {
		verdict.Message = facts.Node.Name + " is asked for, and waits for the coordinator"
	}
	return verdict, err
}

// mayStart refuses a Machine whose node must not be asked for. If it was, that is taken back: past its
// last check the node finishes.
func (e *Extension) mayStart(ctx context.Context, cluster workload.Cluster, machine *clusterv1.Machine) error {
	err := cluster.CheckPolicy(ctx)
	switch {
	case err != nil:
	case !machine.DeletionTimestamp.IsZero():
		err = refuse("Machine %s/%s is being deleted", machine.Namespace, machine.Name)
	case management.ToBeReplaced(machine):
		err = toBeReplaced(machine)
	}
	var problem *workload.Problem
	if err == nil || errors.As(err, &problem) && problem.Err != nil { // not known now
		return err
	}
	return errors.Join(err, e.Abandon(ctx, cluster, machine))
}

func toBeReplaced(machine *clusterv1.Machine) error {
	return refuse("a MachineHealthCheck has marked Machine %s/%s for remediation", machine.Namespace, machine.Name)
}

// finish takes back what was asked for a Machine whose node has the version and is in service.
func (e *Extension) finish(ctx context.Context, cluster workload.Cluster, machine *clusterv1.Machine) error {
	if _, err := cluster.Withdraw(ctx, machine.Status.NodeRef.Name); err != nil {
		return err
	}
	return management.Unmark(ctx, e.Management, machine)
}

// Abandon takes back everything that was asked for a Machine.
func (e *Extension) Abandon(ctx context.Context, cluster workload.Cluster, machine *clusterv1.Machine) error {
	if name := machine.Status.NodeRef.Name; name != "" {
		_, err := cluster.Withdraw(ctx, name)
		if client.IgnoreNotFound(err) != nil { // without our objects, no node is asked for
			return err
		}
	}
	return management.Unmark(ctx, e.Management, machine)
}
