package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// findOldAPIServer returns a node whose apiserver is not at the version yet, or
// whose apiserver is not to be seen: its pod is away for a moment while kubeadm
// replaces it. That of an abandoned node does not count: the pod of a machine that
// is off stays as it was. Nor does one that the upgrade leaves as it is.
func (c *cluster) findOldAPIServer() string {
	if c.target == nil || c.target.reboot {
		return ""
	}
	left := map[string]bool{}
	for _, n := range c.controlPlanes() {
		if n.abandoned != nil || c.target.leaves(n) {
			left[n.Name] = true
		}
	}
	seen := map[string]bool{}
	for _, pod := range c.apiServers {
		if !left[pod.Node] && !atLeast(parsed(pod.Version), c.target.to) {
			return pod.Node
		}
		seen[pod.Node] = true
	}
	for _, n := range c.controlPlanes() {
		if !left[n.Name] && !seen[n.Name] {
			return n.Name
		}
	}
	return ""
}

// notEveryAPIServer says that an apiserver is not at the version yet. No node that
// lacks the control plane's label is brought to it, so one there is named: the label
// was lost, or the pod is none of kubeadm's.
func (c *cluster) notEveryAPIServer() string {
	message := fmt.Sprintf("not every kube-apiserver is at %s yet", c.target.to)
	if !slices.ContainsFunc(c.controlPlanes(), func(n *node) bool { return n.Name == c.oldAPIServer }) && c.oldAPIServer != "" {
		message += fmt.Sprintf(": there is one on node %s, which is no control-plane node by its labels", c.oldAPIServer)
	}
	return message
}

// firstControlPlane returns the node that runs `kubeadm upgrade apply`: the one that
// was chosen before, as it may have got half-way; else the first. Once a node has
// completed, the others run `kubeadm upgrade node`.
func (c *cluster) firstControlPlane() *node {
	if c.target == nil || c.target.reboot {
		return nil
	}
	var first, chosen *node
	for _, n := range c.controlPlanes() {
		switch {
		case !n.concerned:
			continue
		case atLeast(*n.runs.kubeadm, c.target.to):
			return nil
		case first == nil:
			first = n
		}
		if chosen == nil && c.orders(n) && n.spec.Kubeadm == v1alpha1.KubeadmApply {
			chosen = n
		}
	}
	if chosen != nil {
		return chosen
	}
	return first
}
