package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// findOldAPIServer returns the name of a node whose apiserver is not at the version
// yet, or has no pod: the pod is missing for a moment while kubeadm replaces it.
// Abandoned nodes do not count, because the pod of a machine that is off stays as it
// was. Nor do nodes that the upgrade skips.
func (c *cluster) findOldAPIServer() string {
	if c.target == nil || c.target.reboot {
		return ""
	}
	skipped := map[string]bool{}
	for _, n := range c.controlPlanes() {
		if n.abandoned != nil || c.target.skips(n) {
			skipped[n.Name] = true
		}
	}
	seen := map[string]bool{}
	for _, pod := range c.apiServers {
		if !skipped[pod.Node] && !atLeast(parsed(pod.Version), c.target.to) {
			return pod.Node
		}
		seen[pod.Node] = true
	}
	for _, n := range c.controlPlanes() {
		if !skipped[n.Name] && !seen[n.Name] {
			return n.Name
		}
	}
	return ""
}

// notEveryAPIServer returns the message for an apiserver that is not at the version
// yet. It names an apiserver on a node without the control plane's label, because no
// upgrade changes that one: the label was lost, or the pod is not kubeadm's.
func (c *cluster) notEveryAPIServer() string {
	message := fmt.Sprintf("not every kube-apiserver is at %s yet", c.target.to)
	if c.oldAPIServerUnlabelled() {
		message += fmt.Sprintf(": there is one on node %s, which is no control-plane node by its labels", c.oldAPIServer)
	}
	return message
}

// oldAPIServerUnlabelled reports whether the old kube-apiserver is on a node that is no
// control-plane node by its labels.
func (c *cluster) oldAPIServerUnlabelled() bool {
	return c.oldAPIServer != "" && !slices.ContainsFunc(c.controlPlanes(), func(n *node) bool { return n.labelled && n.Name == c.oldAPIServer })
}

// firstControlPlane returns the node that runs `kubeadm upgrade apply`: the one that
// was chosen before, because it may have begun; else the first. Once a node has
// completed, the others run `kubeadm upgrade node` and the result is nil. A node that runs
// the version without a record of kubeadm (it joined so, or was given back meanwhile) will
// not run it: another one does, which may be a second time.
func (c *cluster) firstControlPlane() *node {
	if c.target == nil || c.target.reboot {
		return nil
	}
	var first, chosen *node
	for _, n := range c.controlPlanes() {
		switch {
		case !n.concerned || n.lacksLabel():
			continue
		case atLeast(*n.runs.kubeadm, c.target.to):
			return nil
		case c.target.kubeadmDone(n):
			continue
		case first == nil:
			first = n
		}
		if chosen == nil && c.specIsForTarget(n) && n.spec.Kubeadm == v1alpha1.KubeadmApply {
			chosen = n
		}
	}
	if chosen != nil {
		return chosen
	}
	return first
}
