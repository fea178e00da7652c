package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// notTriggered holds every node while the upgrade cannot be triggered; see trigger.go.
func notTriggered(c *cluster, _ *node) clusterstate.Hold { return c.target.hold }

// stepForbidden holds a node whose version step Kubernetes does not allow, or whose
// next boot would change its Kubernetes version.
func stepForbidden(c *cluster, n *node) clusterstate.Hold {
	switch {
	case n.skew == nil:
		return clusterstate.Hold{}
	case c.target.reboot:
		return clusterstate.Hold{Reason: v1alpha1.ReasonNextBootDiffers, Message: n.skew.Error()}
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonSkew, Message: n.skew.Error()}
}

// notReady holds a node that is NotReady already.
func notReady(c *cluster, n *node) clusterstate.Hold {
	if n.Ready {
		return clusterstate.Hold{}
	}
	hold := clusterstate.Hold{Reason: v1alpha1.ReasonNodeNotReady, Message: "the node is not Ready"}
	if hold.Stays = n.NotReadySince != nil && hasLasted(n.NotReadySince, c.now); hold.Stays {
		hold.Message = fmt.Sprintf("the node has been NotReady since %s; if it never comes back: `kubectl upgrade abandon %s`", clusterstate.FormatTime(*n.NotReadySince), n.Name)
	}
	return hold
}

// rehearsalFailed holds a node whose next boot was tried and would not bring it back.
func rehearsalFailed(c *cluster, n *node) clusterstate.Hold {
	if c.target.certificates {
		return clusterstate.Hold{} // nothing boots
	}
	version := c.target.Spec.Version
	if c.target.reboot {
		version = n.Kubelet
	}
	return rules.Rehearsal(c.target.Spec, n.facts, version)
}

// agentNotAnswering holds a node whose agent does not answer. A node that is released already
// loses its release and its slot, if it has not begun.
func agentNotAnswering(c *cluster, n *node) clusterstate.Hold { return n.agentHold(c.now) }

// agentHold returns the hold of a node whose agent does not answer.
func (n *node) agentHold(now time.Time) clusterstate.Hold {
	problem := n.agentSilent(now)
	if problem == "" {
		return clusterstate.Hold{}
	}
	message := fmt.Sprintf("no agent answers on the node: %s; `kubectl -n %s get pods -o wide` shows the agents' pods", problem, v1alpha1.Namespace)
	if n.busy() {
		message = fmt.Sprintf("in the step %s %s", n.status.Step, message)
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonAgentNotAnswering, Message: message, Stays: hasLasted(n.agentSilentSince(), now)}
}

// unknownMark holds a node whose slot annotation names a slot that was not reserved for
// it. Its agent removes such an annotation.
func unknownMark(_ *cluster, n *node) clusterstate.Hold {
	if n.SlotAnnotation == "" || n.marked() {
		return clusterstate.Hold{}
	}
	message := fmt.Sprintf("the Node has the annotation %s: %q, a slot that was not reserved for it; if it comes back after it was removed, find out who writes it",
		v1alpha1.SlotAnnotation, n.SlotAnnotation)
	return clusterstate.Hold{Reason: v1alpha1.ReasonUnknownMark, Message: message}
}

// cannotPrepare holds a node on which the image cannot be staged, or a container image of the
// control plane cannot be pulled.
func cannotPrepare(_ *cluster, n *node) clusterstate.Hold {
	if n.prepared || !n.cannotStage() {
		return clusterstate.Hold{}
	}
	return clusterstate.Hold{Reason: n.cause.Reason, Message: n.cause.Message, Stays: true}
}

// notPrepared holds a node that lacks the image, or a container image of the control
// plane.
func notPrepared(c *cluster, n *node) clusterstate.Hold {
	switch {
	case n.prepared:
		return clusterstate.Hold{}
	case n.silent():
		return clusterstate.Hold{Reason: v1alpha1.ReasonNotStaged, Message: "no agent has reported from this node yet"}
	case n.staged:
		return clusterstate.Hold{Reason: v1alpha1.ReasonPullingImages, Message: fmt.Sprintf("the container images of %s are not on the node yet", c.target.to)}
	case c.reading.snapshot.Source.Problem.Holds():
		return c.reading.snapshot.Source.Problem
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonNotStaged, Message: fmt.Sprintf("the image of %s is not staged yet", c.target.to)}
}

// labelMissing holds a node that runs a kube-apiserver, as its agent reports, and has not the
// control plane's label, in an upgrade to a version. The report alone makes no node run kubeadm
// for a control plane, nor take the snapshot of etcd: the agent's token is enough to write it.
// It does not make it a worker either.
func labelMissing(c *cluster, n *node) clusterstate.Hold {
	if c.target.reboot || !n.lacksLabel() {
		return clusterstate.Hold{}
	}
	message := fmt.Sprintf(
		"it reports that it runs a kube-apiserver, and has not the label %s; if it is a control plane: `kubectl label node %s %s=`; if it is not, its agent's report is false",
		clusterstate.ControlPlaneLabel, n.Name, clusterstate.ControlPlaneLabel)
	return clusterstate.Hold{Reason: v1alpha1.ReasonLabelMissing, Message: message}
}
