package cluster

import (
	"context"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cgroup"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/serve"
)

// Status is the present state of a lab.
type Status struct {
	Spec     Spec
	Systemd  string // of the nodes; empty before they are made
	Complete bool   // all nodes were Ready once
	Serving  bool   // the bridge's services run
	Nodes    []NodeStatus
	Offers   []serve.Offer
	// APIError is why the state of the Nodes is missing.
	APIError error
}

// NodeStatus is the state of a machine and of its Node.
type NodeStatus struct {
	Name, Address   string
	On, Partitioned bool
	Memory          int64  // bytes that its processes hold
	BootID          string // empty when it is off
	Member
}

// Status reads the state of all parts of the lab. It is not an error if the API
// does not answer.
func (c *Cluster) Status(ctx context.Context) (Status, error) {
	status := Status{Spec: c.state.Spec, Complete: c.state.Complete, Serving: c.serving()}
	members, err := c.Members(ctx)
	status.APIError = err
	for _, endpoint := range c.state.Spec.endpoints() {
		entry := NodeStatus{Name: endpoint.Name, Address: endpoint.Address.String(), Member: members[endpoint.Name]}
		if machine, err := c.Node(endpoint.Name); err == nil {
			if entry.On, err = machine.On(); err != nil {
				return Status{}, err
			}
			// A cache that was deleted does not say it.
			status.Systemd, _ = artifacts.Systemd(machine.Spec.Rootfs)
			entry.Partitioned = machine.Partitioned()
			// Both are unknown for a node that is off.
			entry.BootID, _ = machine.BootID()
			if groups, err := cgroup.Of(endpoint.Name); err == nil {
				entry.Memory, _ = groups.Memory()
			}
		}
		status.Nodes = append(status.Nodes, entry)
	}
	status.Offers, err = serve.Offers(c.ServeDir())
	return status, err
}
