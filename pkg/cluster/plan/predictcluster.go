package plan

import (
	"cmp"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// What the prediction changes in its copy of the cluster.

// copied returns a copy of the cluster with lists of its own.
func (c *cluster) copied() *cluster {
	out := *c
	out.nodes, out.slots = slices.Clone(c.nodes), slices.Clone(c.slots)
	out.apiServers, out.etcd = slices.Clone(c.apiServers), slices.Clone(c.etcd)
	return &out
}

// index returns the index of the node with that place in c.nodes.
func (c *cluster) index(place int) int {
	i, _ := slices.BinarySearchFunc(c.nodes, place, func(n *node, place int) int { return cmp.Compare(n.place, place) })
	return i
}

// setSlot replaces the slot of that name.
func (c *cluster) setSlot(slot clusterstate.Slot) {
	for i := range c.slots {
		if c.slots[i].Name == slot.Name {
			c.slots[i] = slot
		}
	}
}

// changed returns a changed copy of the node.
func (c *cluster) changed(n *node, change func(*node)) *node {
	out := *n
	change(&out)
	out.nodeState = c.target.stateOf(&out)
	return &out
}

// bringBackPods marks the etcd member of a control plane Ready and, once kubeadm has
// completed, its apiserver at the version.
func (c *cluster) bringBackPods(n *node) {
	for i := range c.etcd {
		if c.etcd[i].Node == n.Name {
			c.etcd[i].Ready = true
		}
	}
	if !c.target.runsKubeadmUpgrade() || !n.kubeadmDone {
		return
	}
	server := clusterstate.StaticPod{Node: n.Name, Version: c.target.to.String(), Ready: true}
	i := slices.IndexFunc(c.apiServers, func(pod clusterstate.StaticPod) bool { return pod.Node == n.Name })
	if i < 0 {
		c.apiServers = append(c.apiServers, server)
		return
	}
	c.apiServers[i] = server
}

// stage marks the images that were being staged as staged.
func (c *cluster) stage() {
	for i, n := range c.nodes {
		if n == nil || !n.stages() {
			continue
		}
		c.nodes[i] = c.changed(n, func(n *node) { n.runs.staged, n.runs.pulled = &c.target.to, &c.target.to })
	}
}

// stages reports whether the node is staging an image.
func (n *node) stages() bool {
	return n.Ready && !n.prepared && !n.cannotStage() && n.status.Step != ""
}
