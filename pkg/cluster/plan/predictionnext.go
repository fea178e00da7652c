package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// after returns the cluster as it will be at that instant: nodes that have begun are
// out of service, nodes whose work has ended are back. Unchanged nodes are shared
// between the two clusters.
func (p *prediction) after(begun []work, now time.Time) *cluster {
	c := p.copied()
	c.now = now
	for _, w := range begun {
		c.nodes[p.index(w.place)] = w.node
		c.setSlot(*w.lease)
	}
	p.working = slices.DeleteFunc(p.working, func(w work) bool {
		due := !w.end.After(now)
		if due {
			p.finish(c, w)
		}
		return due
	})
	if p.staged != nil && !now.Before(*p.staged) {
		p.staged = nil
		c.stage()
	}
	c.nodes = slices.DeleteFunc(c.nodes, func(n *node) bool { return n == nil })
	c.survey = c.newSurvey()
	return c
}

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
func (c *cluster) setSlot(slot fleet.Slot) {
	for i := range c.slots {
		if c.slots[i].Name == slot.Name {
			c.slots[i] = slot
		}
	}
}

// finish brings a node back into service in the next cluster c. A worker that is done
// is removed from it.
func (p *prediction) finish(c *cluster, w work) {
	if w.lease != nil {
		c.setSlot(fleet.Slot{Name: w.lease.Name})
	}
	if !w.aborts && !w.components {
		p.spans[w.Name] = w.span
	}
	c.snapshotTaken = c.snapshotTaken || w.snapshot && !w.aborts
	i := p.index(w.place)
	c.nodes[i] = c.changed(w.node, func(n *node) { w.bringBack(n, c.target) })
	switch n := c.nodes[i]; {
	case n.ControlPlane:
		c.bringBackPods(n)
	case n.upToDate || !n.concerned:
		c.nodes[i] = nil
	}
}

// bringBack changes the node to its state after the work.
func (w work) bringBack(n *node, t *target) {
	spec := *n.spec
	spec.Release, spec.Slot = v1alpha1.ReleaseNone, ""
	n.spec, n.lease, n.phase, n.Node.SlotAnnotation, n.tookSlot, n.Ready = &spec, nil, v1alpha1.PhaseInService, "", false, true
	switch {
	case w.aborts:
	case w.components:
		n.runs.kubeadm, n.runs.controlPlane = &t.to, &t.to
	case t.reboot:
		n.status = rebooted(n.status)
	default:
		n.runs.kubelet = &t.to
	}
}

// changed returns a changed copy of the node.
func (c *cluster) changed(n *node, change func(*node)) *node {
	out := *n
	change(&out)
	out.nodeState = c.target.stateOf(&out)
	return &out
}

// rebooted returns the status of a node that no longer asks for a reboot.
func rebooted(status *v1alpha1.NodeUpgradeStatus) *v1alpha1.NodeUpgradeStatus {
	out := *status
	out.Reboot = v1alpha1.NodeReboot{}
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
	if c.target.reboot || !n.kubeadmDone {
		return
	}
	server := fleet.StaticPod{Node: n.Name, Version: c.target.to.String(), Ready: true}
	i := slices.IndexFunc(c.apiServers, func(pod fleet.StaticPod) bool { return pod.Node == n.Name })
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
