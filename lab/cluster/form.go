package cluster

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/node"
)

// form makes one cluster of the nodes: nodes that have joined are only powered on,
// the others start from empty disks.
func (c *Cluster) form(ctx context.Context, parts parts) error {
	joined := c.joined()
	fresh := startAnew(c.state.Spec.endpoints(), joined)
	if err := c.step("powering on "+strings.Join(c.Nodes(), ", "), func() error {
		return c.powerOn(ctx, fresh, parts)
	}); err != nil {
		return err
	}
	first := c.Nodes()[0]
	if slices.Contains(fresh, first) {
		if err := c.step("kubeadm init on "+first, func() error { return c.init(ctx, first) }); err != nil {
			return err
		}
	}
	if err := c.writeKubeconfig(ctx, first); err != nil {
		return err
	}
	if err := c.joinAll(ctx, fresh); err != nil {
		return err
	}
	return c.step("waiting for Ready", func() error { return c.settle(ctx) })
}

func (c *Cluster) joined() map[string]bool {
	joined := map[string]bool{}
	for _, name := range c.Nodes() {
		_, err := os.Stat(c.joinedMark(name))
		joined[name] = err == nil
	}
	return joined
}

// startAnew names the nodes that have to begin with empty disks. An etcd that
// waits for a member that did not finish joining has no quorum, so if one control
// plane is missing, all nodes start again.
func startAnew(all []network.Endpoint, joined map[string]bool) []string {
	var missing, names []string
	for _, endpoint := range all {
		names = append(names, endpoint.Name)
		if !joined[endpoint.Name] {
			missing = append(missing, endpoint.Name)
		}
	}
	if slices.ContainsFunc(missing, isControlPlane) {
		return names
	}
	return missing
}

func isControlPlane(name string) bool { return strings.HasPrefix(name, "cp") }

// powerOn returns when all nodes have booted.
func (c *Cluster) powerOn(ctx context.Context, fresh []string, parts parts) error {
	return each(c.state.Spec.endpoints(), func(endpoint network.Endpoint) error {
		if slices.Contains(fresh, endpoint.Name) {
			if err := c.wipe(ctx, endpoint, parts, c.state.Spec.Ignition); err != nil {
				return err
			}
		}
		if err := c.Start(ctx, endpoint.Name); err != nil {
			return err
		}
		machine, err := c.Node(endpoint.Name)
		if err != nil {
			return err
		}
		return machine.WaitBooted(ctx)
	})
}

// wipe ends all processes of a node, and creates it again with empty disks. ignition is the path of
// the Ignition configuration that it boots with, or empty.
func (c *Cluster) wipe(ctx context.Context, endpoint network.Endpoint, parts parts, ignition string) error {
	left := node.Machine{Dir: c.nodeDir(endpoint.Name), Spec: node.Spec{Endpoint: endpoint}}
	if err := left.Kill(ctx); err != nil {
		return err
	}
	upgrade, err := c.config(endpoint, false, "").render("upgrade.yaml")
	if err != nil {
		return err
	}
	engine := ""
	if c.state.Spec.UpdateEngine {
		engine = c.updateEngine()
	}
	machine, err := node.Create(c.nodeDir(endpoint.Name), node.Spec{
		Endpoint:     endpoint,
		Peers:        c.state.Spec.endpoints(),
		Rootfs:       parts.Rootfs,
		Base:         c.state.Spec.Base.String(),
		Containerd:   parts.Containerd,
		Kubernetes:   parts.Kubernetes.Sysext,
		Version:      parts.Kubernetes.Version,
		Pause:        parts.Kubernetes.Pause,
		ImageServer:  "http://" + imageServer,
		Registry:     "http://" + registry,
		AutoUpdate:   c.state.Spec.RawFlatcar,
		Ignition:     ignition,
		UpdateEngine: engine,
		Files:        map[string]string{upgradeConfig: upgrade},
	})
	if err != nil {
		return err
	}
	return machine.RunIgnition(ctx)
}

// upgradeConfig is the file that an upgrade passes to kubeadm.
const upgradeConfig = "/etc/kubernetes/kubeadm-upgrade.yaml"

// joinAll adds control planes one after the other, as etcd takes them, and
// meanwhile the workers.
func (c *Cluster) joinAll(ctx context.Context, fresh []string) error {
	queues := joinQueues(fresh)
	if len(queues) == 0 {
		return nil
	}
	return c.step("kubeadm join on "+strings.Join(slices.Concat(queues...), ", "), func() error {
		hash, err := c.readCAHash(ctx)
		if err != nil {
			return err
		}
		return each(queues, func(names []string) error {
			for _, name := range names {
				if err := c.join(ctx, name, hash); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// joinQueues returns the nodes that join the first one: within a queue one after
// the other, all queues at the same time.
func joinQueues(fresh []string) [][]string {
	var queues [][]string
	var planes []string
	for _, name := range fresh {
		switch {
		case name == network.ControlPlane(1).Name:
		case isControlPlane(name):
			planes = append(planes, name)
		default:
			queues = append(queues, []string{name})
		}
	}
	if len(planes) > 0 {
		queues = slices.Insert(queues, 0, planes)
	}
	return queues
}

// each calls a function for all of them at the same time, and returns all errors.
func each[T any](all []T, do func(T) error) error {
	var wait sync.WaitGroup
	failures := make([]error, len(all))
	for i, one := range all {
		wait.Go(func() { failures[i] = do(one) })
	}
	wait.Wait()
	return errors.Join(failures...)
}
