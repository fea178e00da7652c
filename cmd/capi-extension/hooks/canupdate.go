package hooks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	response.Status = runtimehooksv1.ResponseStatusSuccess
	answer, err := e.canUpdateMachine(ctx, request, true)
	if err != nil {
		response.Status, response.Message = runtimehooksv1.ResponseStatusFailure, e.sentence(ctx, err)
		return
	}
	response.MachinePatch = patch(answer.Machine)
	response.BootstrapConfigPatch = patch(answer.Bootstrap)
	response.InfrastructureMachinePatch = patch(answer.Infrastructure)
}

func (e *Extension) canUpdateMachine(ctx context.Context, request *question, first bool) (cover.Answer, error) {
	var machine clusterv1.Machine
	name, err := request.object.key()
	if err != nil {
		return cover.Answer{}, err
	}
	if err := e.Management.Get(ctx, name, &machine); err != nil {
		if apierrors.IsNotFound(err) {
			return cover.Answer{}, refuse("there is no Machine %s", name)
		}
		return cover.Answer{}, fmt.Errorf("reading Machine %s: %w", name, err)
	}
	owner, err := management.OwnerOf(ctx, e.Management, &machine)
	if err != nil {
		return cover.Answer{}, err
	}
	answer, err := e.controlPlaneMachine(ctx, request, &machine, owner)
	if first {
		kept := request.again()
		e.keep(ctx, err, &machine, owner, func(ctx context.Context) error {
			_, err := e.canUpdateMachine(ctx, kept, false)
			return err
		})
	}
	return answer, err
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

func (e *Extension) controlPlaneMachine(ctx context.Context, request *question, machine *clusterv1.Machine, owner management.Owner) (cover.Answer, error) {
	step, answer, replace, err := e.covered(owner, request)
	if err != nil || replace {
		return cover.Answer{}, err
	}
	if management.ToBeReplaced(machine) {
		return cover.Answer{}, refuse("a MachineHealthCheck has marked Machine %s/%s for remediation", machine.Namespace, machine.Name)
	}
	return answer, e.nodeMayGo(ctx, machine, step)
}

// nodeMayGo refuses a machine whose node would have to wait.
func (e *Extension) nodeMayGo(ctx context.Context, machine *clusterv1.Machine, step cover.Step) error {
	cluster, err := e.open(ctx, management.ClusterOf(machine))
	if err != nil {
		return err
	}
	// A node that has the version needs no upgrade.
	verdict, node, err := look(ctx, cluster, machine, step.To, nil)
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
	if verdict, _, err = look(ctx, cluster, machine, step.To, upgrade); err != nil {
		return err
	}
	switch {
	case verdict.State == progress.Next && !step.From.SameLine(step.To):
		return checkAPIServer(ctx, cluster, node.Name, step)
	case verdict.State == progress.Waits || verdict.State == progress.Stopped:
		if !slices.Contains(upgrade.Spec.RequestedNodes, *node) {
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
	return step, answer, false, refuse("%s cannot be upgraded in place, because more changes than its version: %s. Change these back, or annotate it with %s=%s to have its machines replaced",
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
