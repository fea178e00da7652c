package hooks

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/cover"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/management"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/progress"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/workload"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// CanUpdateMachine answers whether a control plane's machine can be updated in place now. Yes also
// means now: KubeadmControlPlane does not ask again.
func (e *Extension) CanUpdateMachine(ctx context.Context, request *question, response *runtimehooksv1.CanUpdateMachineResponse) {
	answer := canUpdate(ctx, e, "Machine", request, response, e.nodeMayGo)
	response.MachinePatch = patch(answer.Machine)
	response.BootstrapConfigPatch = patch(answer.Bootstrap)
	response.InfrastructureMachinePatch = patch(answer.Infrastructure)
}

// CanUpdateMachineSet answers whether the machines of a MachineSet can be updated in place. The answer
// does not depend on windows and the like, because Cluster API keeps it for a day: UpdateMachine asks
// for each machine.
func (e *Extension) CanUpdateMachineSet(ctx context.Context, request *question, response *runtimehooksv1.CanUpdateMachineSetResponse) {
	answer := canUpdate(ctx, e, "MachineSet", request, response, e.machinesCanGo)
	response.MachineSetPatch = patch(answer.Machine)
	response.BootstrapConfigTemplatePatch = patch(answer.Bootstrap)
	response.InfrastructureMachineTemplatePatch = patch(answer.Infrastructure)
}

// canUpdate answers a question about an object of that kind, and keeps it while the answer is Failure. mayGo
// refuses an object of which only the version changes.
func canUpdate[T any, P object[T]](ctx context.Context, e *Extension, kind string, q *question, response runtimehooksv1.ResponseObject,
	mayGo func(context.Context, P, cover.Step) error) cover.Answer {
	about, owner, answer, err := judge(ctx, e, kind, q, mayGo)
	if owner.Object != nil {
		kept := q.again()
		e.keep(ctx, err, about, owner, func(ctx context.Context) error {
			_, _, _, err := judge(ctx, e, kind, kept, mayGo)
			return err
		})
	}
	if err != nil {
		response.SetStatus(runtimehooksv1.ResponseStatusFailure)
		response.SetMessage(e.sentence(ctx, err))
		return cover.Answer{}
	}
	response.SetStatus(runtimehooksv1.ResponseStatusSuccess)
	return answer
}

// judge returns the object of a question, its owner, and the answer. The owner's object is nil if it cannot be read.
func judge[T any, P object[T]](ctx context.Context, e *Extension, kind string, q *question,
	mayGo func(context.Context, P, cover.Step) error) (about P, owner management.Owner, answer cover.Answer, err error) {
	if about, err = read[T, P](ctx, e, kind, q.object); err != nil {
		return nil, owner, answer, err
	}
	if owner, err = management.OwnerOf(ctx, e.Management, about); err != nil {
		return about, owner, answer, err
	}
	step, answer, replace, err := e.covered(owner, q)
	if err == nil && !replace {
		err = mayGo(ctx, about, step)
	}
	return about, owner, answer, err
}

// keep remembers the question of an owner whose answer is Failure, and tells why. Another answer ends that.
func (e *Extension) keep(ctx context.Context, err error, about client.Object, owner management.Owner, again func(context.Context) error) {
	if err == nil {
		e.Remember(owner, nil)
		return
	}
	e.tellRefused(ctx, err, about, owner)
	e.Remember(owner, again)
}

// nodeMayGo refuses a machine whose node would have to wait.
func (e *Extension) nodeMayGo(ctx context.Context, machine *clusterv1.Machine, step cover.Step) error {
	if management.ToBeReplaced(machine) {
		return toBeReplaced(machine)
	}
	cluster, err := e.open(ctx, management.ClusterOf(machine))
	if err != nil {
		return err
	}
	// A node that has the version needs no upgrade.
	verdict, _, err := look(ctx, cluster, machine, step.To, nil)
	switch {
	case err != nil || verdict.State == progress.Done || verdict.State == progress.AtWork:
		return err
	case !needsUpgrade(verdict):
		return refuse("%s", verdict.Message)
	}
	upgrade, err := cluster.Ensure(ctx, step.To)
	if err != nil {
		return err
	}
	verdict, facts, err := look(ctx, cluster, machine, step.To, upgrade)
	if err != nil {
		return err
	}
	switch {
	case verdict.State == progress.Next && !step.From.SameLine(step.To):
		return checkAPIServer(ctx, cluster, facts.Node.Name, step)
	case verdict.State == progress.Waits || verdict.State == progress.Stopped:
		if facts.NodeUpgrade == nil || !facts.NodeUpgrade.RequestedFor(upgrade.UID) {
			return wait(verdict)
		}
	}
	return nil
}

// checkAPIServer refuses a control plane's node whose kubelet would be of a newer minor than the
// kube-apiserver that it talks to: KubeadmControlPlane upgrades one machine as a whole before the next.
func checkAPIServer(ctx context.Context, cluster workload.Cluster, node string, step cover.Step) error {
	own, err := cluster.OwnAPIServer(ctx, node)
	if err != nil || own {
		return err
	}
	return refuse("the kubelet of %s does not talk to the kube-apiserver of its own node, and would be newer than another one: set kubeadm's feature gate ControlPlaneKubeletLocalMode, and upgrade to a patch of %s first, with which kubeadm changes that",
		node, step.From.Line())
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

// open returns the workload cluster if it is not paused, and Cluster API decides on versions in it.
func (e *Extension) open(ctx context.Context, name types.NamespacedName) (workload.Cluster, error) {
	if _, err := e.cluster(ctx, name); err != nil {
		return workload.Cluster{}, err
	}
	cluster, err := e.Open(ctx, name)
	if err != nil {
		return workload.Cluster{}, err
	}
	return cluster, cluster.CheckPolicy(ctx)
}

// covered returns what a request changes, if all of it is covered. replace reports that the answer is no,
// because a person wants that.
func (e *Extension) covered(owner management.Owner, request *question) (step cover.Step, answer cover.Answer, replace bool, err error) {
	if step.From, err = version.Parse(request.from); err != nil {
		return step, answer, false, refuse("the current version of machines of %s: %s", owner, err)
	}
	if step.To, err = version.Parse(request.to); err != nil {
		return step, answer, false, refuse("the version of %s: %s", owner, err)
	}
	if err := checkVersion(owner, step.To); err != nil {
		return step, answer, false, err
	}
	then, err := e.onUncovered(owner)
	if err != nil {
		return step, answer, false, err
	}
	if request.unreadable {
		return step, answer, false, refuse("the request of Cluster API cannot be read")
	}
	if err := version.CheckStep(step.From, step.To); err != nil {
		if then != Replace {
			return step, answer, false, refuse("%s: %s", owner, err)
		}
		return step, answer, true, nil
	}
	switch {
	case request.uncovered == "":
		return step, ptr.Deref(request.patches, answer), false, nil
	case then == Replace:
		return step, answer, true, nil
	}
	return step, answer, false, refuse(
		"%s cannot be upgraded in place, because more changes than its version: %s. Change these back, or annotate it with %s=%s to have its machines replaced",
		owner, request.uncovered, OnUncoveredAnnotation, Replace)
}

// mostFields is how many fields a message names.
const mostFields = 10

func list(fields []string) string {
	if more := len(fields) - mostFields; more > 0 {
		return strings.Join(fields[:mostFields], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(fields, ", ")
}

func patch(data []byte) runtimehooksv1.Patch {
	if data == nil {
		return runtimehooksv1.Patch{}
	}
	return runtimehooksv1.Patch{PatchType: runtimehooksv1.JSONPatchType, Patch: data}
}
