package cluster

import (
	"path/filepath"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/capi"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/host"
)

// Kubeconfig returns the path of the administrator's kubeconfig. Its server is the
// load balancer of all apiservers.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.Dir, "kubeconfig") }

// KubectlPath returns the path of the lab's kubectl.
func (c *Cluster) KubectlPath() string { return filepath.Join(c.BinDir(), "kubectl") }

// BinDir returns the folder for PATH: it has kubectl.
func (c *Cluster) BinDir() string { return filepath.Join(c.Dir, "bin") }

// CacheDir returns the folder of the files that labs are made from. Down keeps it.
func (c *Cluster) CacheDir() string { return c.state.CacheDir }

// LogDir returns the folder of kubeadm's output, one file for each node.
func (c *Cluster) LogDir() string { return filepath.Join(c.Dir, "log") }

// ServeDir returns the folder for package serve's functions.
func (c *Cluster) ServeDir() string { return filepath.Join(c.Dir, "serve") }

func (c *Cluster) stateFile() string { return filepath.Join(c.Dir, "lab.json") }

func (c *Cluster) nodesDir() string { return filepath.Join(c.Dir, "nodes") }

func (c *Cluster) nodeDir(name string) string { return filepath.Join(c.nodesDir(), name) }

func (c *Cluster) joinedMark(name string) string {
	return filepath.Join(c.nodeDir(name), "joined")
}

func (c *Cluster) program() string { return filepath.Join(c.BinDir(), "lab") }

func (c *Cluster) updateEngine() string { return filepath.Join(c.BinDir(), updateEngine) }

func (c *Cluster) serveRecord() string { return filepath.Join(c.Dir, "serve.json") }

func (c *Cluster) manageRecord() string { return filepath.Join(c.Dir, "manage.json") }

func (c *Cluster) managementDir() string { return filepath.Join(c.Dir, "management") }

// ManagementKubeconfig returns the path of the administrator's kubeconfig of Cluster API's management
// cluster.
func (c *Cluster) ManagementKubeconfig() string { return capi.Kubeconfig(c.managementDir()) }

func (c *Cluster) kernelRecord() string { return filepath.Join(c.Dir, "kernel.json") }

func (c *Cluster) modulesRecord() host.Record {
	return host.Record(filepath.Join(c.Dir, "modules.json"))
}

func (c *Cluster) firewallRecord() host.Record {
	return host.Record(filepath.Join(c.Dir, "firewall.json"))
}
