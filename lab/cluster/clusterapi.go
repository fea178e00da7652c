package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/capi"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/process"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// Manage runs Cluster API, its management cluster and the lab's infrastructure provider until the
// context ends.
func (c *Cluster) Manage(ctx context.Context) error {
	self, err := process.Of(os.Getpid())
	if err != nil {
		return err
	}
	if err := process.Save(c.manageRecord(), self); err != nil {
		return err
	}
	parts, err := c.parts(ctx)
	if err != nil {
		return err
	}
	programs, err := c.clusterAPI(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.managementDir(), 0o700); err != nil {
		return fmt.Errorf("making the folder of the management cluster: %w", err)
	}
	return capi.Run(ctx, capi.Config{
		Dir:        c.managementDir(),
		Kubernetes: parts.Kubernetes.BinDir,
		Etcd:       parts.Kubernetes.EtcdBinDir,
		ClusterAPI: programs,
		Machines:   machines{c, parts},
	})
}

func (c *Cluster) clusterAPI(ctx context.Context) (string, error) {
	cache, err := artifacts.Open(c.CacheDir(), c.Report)
	if err != nil {
		return "", err
	}
	return cache.ClusterAPI(ctx)
}

func (c *Cluster) managing() bool {
	_, running, err := process.Load(c.manageRecord())
	return err == nil && running
}

// StopManaging ends the management cluster with all that runs in it, as when it is lost. Its data stays,
// and `lab up` starts it again. The nodes run on.
func (c *Cluster) StopManaging(ctx context.Context) error {
	manager, _, err := process.Load(c.manageRecord())
	if err != nil {
		return err
	}
	return manager.End(ctx, timelimit.Scale(20*time.Second))
}

// formByClusterAPI makes one cluster of the nodes, as form does, by objects of Cluster API. It changes
// nothing of a cluster that it has made before.
func (c *Cluster) formByClusterAPI(ctx context.Context, _ parts) error {
	// It is built here, where people see how long that takes.
	if _, err := c.clusterAPI(ctx); err != nil {
		return err
	}
	if err := c.step("management cluster with Cluster API "+artifacts.ClusterAPIVersion, func() error { return c.startManaging(ctx) }); err != nil {
		return err
	}
	if !c.state.Complete {
		if err := c.applyObjects(ctx); err != nil {
			return err
		}
	}
	if err := c.step("Cluster API makes "+strings.Join(c.Nodes(), ", "), func() error { return c.awaitMachines(ctx) }); err != nil {
		return err
	}
	return c.step("waiting for Ready", func() error { return c.settle(ctx) })
}

func (c *Cluster) startManaging(ctx context.Context) error {
	if c.managing() {
		return nil
	}
	log, ended, err := c.background(ctx, "manage")
	if err != nil {
		return fmt.Errorf("starting the management cluster: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scale(4*time.Minute))
	defer cancel()
	for !c.managing() || !capi.Ready(c.managementDir()) {
		select {
		case err := <-ended:
			return fmt.Errorf("starting the management cluster: it ended: %w (log: %s)", err, log)
		case <-ctx.Done():
			return fmt.Errorf("starting the management cluster: %w (log: %s)", ctx.Err(), log)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

func (c *Cluster) applyObjects(ctx context.Context) error {
	objects, err := capi.Objects(capi.Shape{
		ControlPlanes:          c.state.Spec.ControlPlanes,
		Workers:                c.state.Spec.Workers,
		Version:                c.state.Spec.Version,
		ImageServer:            "http://" + imageServer,
		IgnoredPreflightErrors: ignored,
		ClusterClass:           c.state.Spec.ClusterClass,
	})
	if err != nil {
		return err
	}
	_, err = c.manage(ctx, objects, "apply", "--server-side", "-f", "-")
	return err
}

// manage runs kubectl against the management cluster.
func (c *Cluster) manage(ctx context.Context, in string, args ...string) ([]byte, error) {
	return c.kubectlFor(ctx, c.ManagementKubeconfig(), in, args...)
}

// awaitMachines powers on the nodes that are off, and returns when all nodes have joined.
func (c *Cluster) awaitMachines(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scale(15*time.Minute))
	defer cancel()
	for {
		missing, err := c.missing(ctx)
		if err == nil && len(missing) == 0 {
			return nil
		}
		if !c.managing() {
			return fmt.Errorf("the management cluster has ended: see %s", filepath.Join(c.Dir, "manage.log"))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s, see `kubectl --kubeconfig %s get machines,labmachines`: %w",
				strings.Join(missing, ", "), c.ManagementKubeconfig(), errors.Join(ctx.Err(), err))
		case <-time.After(time.Second):
		}
	}
}

// missing returns the nodes that have not joined yet.
func (c *Cluster) missing(ctx context.Context) ([]string, error) {
	if c.state.Complete {
		for _, name := range c.Nodes() {
			if err := c.Start(ctx, name); err != nil {
				return c.Nodes(), err
			}
		}
	}
	if err := c.fetchKubeconfig(ctx); err != nil {
		return c.Nodes(), err
	}
	members, err := c.Members(ctx)
	if err != nil {
		return c.Nodes(), err
	}
	var missing []string
	for _, name := range c.Nodes() {
		if _, joined := members[name]; !joined {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

// fetchKubeconfig writes the kubeconfig that Cluster API made for the cluster.
func (c *Cluster) fetchKubeconfig(ctx context.Context) error {
	config, err := c.manage(ctx, "", "get", "secret", capi.ClusterName+"-kubeconfig", "--namespace", capi.Namespace, "--template", "{{.data.value|base64decode}}")
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(c.Kubeconfig(), config, 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

// machines are the lab's nodes, as Cluster API's infrastructure provider uses them.
type machines struct {
	cluster *Cluster
	parts   parts
}

func (m machines) Names(controlPlane bool) []string {
	var names []string
	for _, name := range m.cluster.Nodes() {
		if isControlPlane(name) == controlPlane {
			names = append(names, name)
		}
	}
	return names
}

func (m machines) Address(name string) (string, error) {
	endpoint, err := network.Lookup(name)
	return endpoint.Address.String(), err
}

func (m machines) Boot(ctx context.Context, name string, ignition []byte) error {
	endpoint, err := network.Lookup(name)
	if err != nil {
		return err
	}
	dir := filepath.Join(m.cluster.managementDir(), "ignition")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file := filepath.Join(dir, name+".ign")
	if err := renameio.WriteFile(file, ignition, 0o600); err != nil { // it has the cluster's keys
		return err
	}
	if err := m.cluster.wipe(ctx, endpoint, m.parts, file); err != nil {
		return err
	}
	if err := m.cluster.Start(ctx, name); err != nil {
		return err
	}
	machine, err := m.cluster.Node(name)
	if err != nil {
		return err
	}
	return machine.WaitBooted(ctx)
}

func (m machines) Discard(ctx context.Context, name string) error {
	if err := m.cluster.discard(ctx, name); err != nil {
		return err
	}
	return os.RemoveAll(m.cluster.nodeDir(name))
}
