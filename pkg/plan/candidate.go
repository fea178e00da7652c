package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// questions stand between a node and its release. Their order is that in which
// the answers help: first what the node itself lacks, then what people decided,
// then whose turn it is.
var questions = []func(*decider, *node) fleet.Hold{
	(*decider).policyInvalid,
	(*decider).whollyHold,
	(*decider).ownHold,
	(*decider).failureHold,
	(*decider).managerHold,
	(*decider).checksHold,
	func(_ *decider, n *node) fleet.Hold { return HoldGate(n.Labels) },
	(*decider).gate,
	(*decider).timeHold,
	(*decider).retryHold,
	(*decider).stagingHold,
	(*decider).turnHold,
	(*decider).controlPlaneHold,
	(*decider).webhookHold,
	(*decider).budgetHold,
	(*decider).reportHold,
	(*decider).slotHold,
}

// candidate lets n go, or says why not.
func (d *decider) candidate(n *node) fleet.Hold {
	for _, question := range questions {
		if hold := question(d, n); hold.Reason != "" {
			return hold
		}
	}
	d.takeOut(n)
	n.release = v1alpha1.ReleaseNode
	if d.pass1 {
		n.release = v1alpha1.ReleaseControlPlane
	}
	return fleet.Hold{}
}

func (d *decider) policyInvalid(*node) fleet.Hold { return d.policyHold }

func (d *decider) whollyHold(*node) fleet.Hold { return d.wholly }

// ownHold is what the node itself lacks.
func (d *decider) ownHold(n *node) fleet.Hold {
	if n.reboot && n.nextBootDiffers() {
		return n.nextBootHold()
	}
	if err := n.step(d.to); err != nil {
		return fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: err.Error()}
	}
	if !n.Ready {
		return fleet.Hold{Reason: v1alpha1.ReasonNodeNotReady, Message: "the node is not Ready"}
	}
	if !n.preparedAt(d.to) {
		return n.unprepared(d.to, d.Source.Problem)
	}
	return fleet.Hold{}
}

func (d *decider) failureHold(*node) fleet.Hold {
	if d.failed == nil {
		return d.wayHold()
	}
	return d.failedHold()
}

// managerHold keeps everybody back while another program may reboot nodes.
func (d *decider) managerHold(*node) fleet.Hold {
	if d.target == nil {
		return fleet.Hold{}
	}
	return ManagerGate(d.RebootManagers, d.target.Spec)
}

// managerStays is whether the program that managerHold tells of goes on until
// somebody stops it.
func (d *decider) managerStays() bool {
	manager := stands(d.RebootManagers, d.target.Spec)
	return manager != nil && !manager.Passes
}

// ManagerGate says whether another program that reboots nodes stands against
// beginning, unless the check that finds it is ignored. The planner asks it, and
// the agent again with what it reads itself.
func ManagerGate(found []fleet.RebootManager, spec v1alpha1.ClusterUpgradeSpec) fleet.Hold {
	manager := stands(found, spec)
	if manager == nil {
		return fleet.Hold{}
	}
	return fleet.Hold{Reason: v1alpha1.ReasonOtherRebootManager, Message: manager.Message}
}

// stands is the first program whose check is not ignored; nil: there is none.
func stands(found []fleet.RebootManager, spec v1alpha1.ClusterUpgradeSpec) *fleet.RebootManager {
	for i := range found {
		if !spec.Ignores(preflight.ManagerCheck(found[i].Name)) {
			return &found[i]
		}
	}
	return nil
}

// retryHold keeps everybody back while a node that gave up waits to try again:
// what stopped it would stop the next.
func (d *decider) retryHold(n *node) fleet.Hold {
	if d.retrying == nil {
		return fleet.Hold{}
	}
	at := d.retrying.retryAt
	d.wakeAt(at)
	if n == d.retrying || d.retries(n) {
		return fleet.Hold{Reason: n.cause.Reason, Message: n.cause.Message, Until: n.retryAt}
	}
	message := fmt.Sprintf("node %s gave up (%s) and tries again %s; nobody starts before it", d.retrying.Name, d.retrying.cause.Reason, clock(*at))
	return fleet.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: message, Until: at}
}

// stagingHold: nobody begins before every node that is in service has its
// image, and every control plane its container images. Once somebody has begun,
// each waits for its own only.
func (d *decider) stagingHold(*node) fleet.Hold {
	switch {
	case d.begun || d.unprepared == nil:
		return fleet.Hold{}
	case d.stageError != nil:
		n, what := d.stageError, "staged"
		if n.stagedAt(d.to) {
			what = "pulled the container images of"
		}
		message := fmt.Sprintf("node %s has not %s %s (%s): %s", n.Name, what, d.to, n.cause.Reason, n.cause.Message)
		return fleet.Hold{Reason: v1alpha1.ReasonNotStaged, Message: message}
	case d.unprepared.stagedAt(d.to):
		return fleet.Hold{Reason: v1alpha1.ReasonNotStaged, Message: fmt.Sprintf("control-plane nodes are still pulling the container images of %s", d.to)}
	}
	return fleet.Hold{Reason: v1alpha1.ReasonNotStaged, Message: fmt.Sprintf("other nodes are still staging %s", d.to)}
}

// turnHold is whose turn it is: control planes in pass 1, then control-plane
// nodes, then group after group.
func (d *decider) turnHold(n *node) fleet.Hold {
	if d.pass1 {
		switch {
		case n.ControlPlane && n.kubeadm == v1alpha1.KubeadmNode && d.applier != nil:
			return fleet.Hold{Reason: v1alpha1.ReasonControlPlaneFirst, Message: fmt.Sprintf("kubeadm upgrade apply runs on %s first", d.applier.Name)}
		case n.ControlPlane && !n.kubeadmAt(d.to) && d.saver != nil && n != d.saver:
			return fleet.Hold{Reason: v1alpha1.ReasonControlPlaneFirst, Message: fmt.Sprintf("%s takes a snapshot of etcd first", d.saver.Name)}
		case n.ControlPlane && !n.kubeadmAt(d.to):
			return fleet.Hold{}
		case d.oldServer != "":
			return fleet.Hold{Reason: v1alpha1.ReasonControlPlaneFirst, Message: fmt.Sprintf("not every kube-apiserver is at %s yet", d.to)}
		}
		return fleet.Hold{Reason: v1alpha1.ReasonControlPlaneFirst, Message: fmt.Sprintf("kubeadm has not completed on every control-plane node at %s yet", d.to)}
	}
	for _, g := range d.groups[:n.group] {
		if g.blocked == nil {
			continue
		}
		if g.name == ControlPlaneGroup {
			return fleet.Hold{Reason: v1alpha1.ReasonControlPlaneFirst, Message: "control-plane nodes go first"}
		}
		return fleet.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: fmt.Sprintf("group %s goes first", g.name)}
	}
	return fleet.Hold{}
}

// controlPlaneHold guards apiservers and etcd.
func (d *decider) controlPlaneHold(n *node) fleet.Hold {
	if hold := d.skewHold(); hold.Reason != "" || !n.ControlPlane {
		return hold
	}
	return d.etcdHold(n)
}

// skewHold is why the apiservers allow nobody's step. A Reboot takes none.
func (d *decider) skewHold() fleet.Hold {
	if d.isReboot() {
		return fleet.Hold{}
	}
	servers := []version.Version{d.to}
	for _, pod := range d.APIServers {
		v, err := version.Parse(pod.Version)
		if err == nil && !d.pass1 {
			err = version.CheckKubelet(d.to, v)
		}
		if err != nil {
			return fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: fmt.Sprintf("kube-apiserver on %s: %v", pod.Node, err)}
		}
		servers = append(servers, v)
	}
	if err := version.CheckAPIServers(servers...); err != nil {
		return fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: err.Error()}
	}
	return fleet.Hold{}
}

// budgetHold is how many may be down at once: of all, and of the group.
func (d *decider) budgetHold(n *node) fleet.Hold {
	g := d.groups[n.group]
	if d.down < d.budget && (g.limit == 0 || g.down < g.limit) {
		return fleet.Hold{}
	}
	if absent := d.absent; absent != nil && (d.down-d.absentees < d.budget || absent.group == n.group) {
		return fleet.Hold{Reason: v1alpha1.ReasonNodeNotReady, Message: fmt.Sprintf("node %s is not Ready and uses the budget up", absent.Name)}
	}
	return fleet.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: fmt.Sprintf("other nodes are before it (at most %d at once)", d.limit(g))}
}

func (d *decider) limit(g *group) int {
	if g.limit > 0 && g.limit < d.budget {
		return g.limit
	}
	return d.budget
}

// slotHold finds the slot for n: the one that is kept for it, or a free one.
func (d *decider) slotHold(n *node) fleet.Hold {
	if n.promised() && (!n.ControlPlane || n.slot.Name == fleet.ControlPlaneSlot) {
		n.reserve = n.slot.Name
		return fleet.Hold{}
	}
	for i, name := range d.spare {
		if n.ControlPlane && name != fleet.ControlPlaneSlot {
			continue
		}
		n.reserve = name
		d.spare = append(d.spare[:i:i], d.spare[i+1:]...)
		return fleet.Hold{}
	}
	return fleet.Hold{Reason: v1alpha1.ReasonNoSlot, Message: "no slot is free"}
}
