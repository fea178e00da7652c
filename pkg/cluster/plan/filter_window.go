package plan

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"

// windowClosed holds a node outside its windows, and inside an exclusion.
func windowClosed(c *cluster, n *node) fleet.Hold {
	return c.windows.lookup(c.classOf(n), c.now).hold
}

// classOf returns the class of nodes with the same windows. A node that was up to
// date when it was placed, and has begun all the same, has none yet.
func (c *cluster) classOf(n *node) *class {
	if n.class != nil {
		return n.class
	}
	return c.windows.classOf(n.Labels, c.target.typeFor(n))
}
