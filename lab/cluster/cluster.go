// Package cluster is the lab as a whole: a Kubernetes cluster that kubeadm
// created, on nodes that behave like Flatcar nodes, all on this machine.
//
// All state of a lab is in one folder, and any process can open it: the programs
// that keep a lab running are independent, and are found by the records that they
// write there. Any step may be interrupted; Up continues from what it finds, and
// Down removes what it finds.
package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/node"
)

// Spec describes a lab.
type Spec struct {
	ControlPlanes int    `json:"controlPlanes"` // 1 or 3
	Workers       int    `json:"workers"`
	Version       string `json:"version"` // of Kubernetes, "v1.34.3"
	// RawFlatcar turns on the timer that fetches and activates new images by
	// itself on every node, as plain Flatcar guides have it.
	RawFlatcar bool `json:"rawFlatcar"`
	// UpdateEngine has every node run a service that plays Flatcar's
	// update_engine.
	UpdateEngine bool `json:"updateEngine,omitempty"`
	// From is where published versions of Kubernetes are downloaded from: "upstream",
	// or the address of a mirror. Empty: they are compiled.
	From string `json:"from,omitempty"`
	// Base is the Debian of the nodes. Empty: artifacts.DefaultBase.
	Base artifacts.Base `json:"base,omitempty"`
	// Containerd is the major version of containerd, 1 or 2. 0: that of the base.
	Containerd int `json:"containerd,omitempty"`
}

// Validate returns an error that says what is wrong with the spec.
func (s Spec) Validate() error {
	if s.ControlPlanes != 1 && s.ControlPlanes != network.MaxControlPlanes {
		return fmt.Errorf("a lab has 1 or %d control planes, not %d", network.MaxControlPlanes, s.ControlPlanes)
	}
	if s.Workers < 0 || s.Workers > network.MaxWorkers {
		return fmt.Errorf("a lab has 0 to %d workers, not %d", network.MaxWorkers, s.Workers)
	}
	if _, err := artifacts.ParseOrigin(s.From); err != nil {
		return err
	}
	if _, err := bare(s.Version); err != nil {
		return err
	}
	if err := s.Base.Validate(); err != nil {
		return err
	}
	_, err := artifacts.ContainerdMajor(s.Base, s.Containerd)
	return err
}

func (s Spec) String() string {
	text := fmt.Sprintf("%d control plane(s), %d worker(s), Kubernetes %s", s.ControlPlanes, s.Workers, s.Version)
	if s.RawFlatcar {
		text += ", with Flatcar's update timer"
	}
	if s.UpdateEngine {
		text += ", with update_engine"
	}
	if s.From != "" {
		text += ", from " + s.From
	}
	if s.Base != "" {
		text += ", on Debian " + s.Base.String()
	}
	if s.Containerd != 0 {
		text += fmt.Sprintf(", with containerd %d", s.Containerd)
	}
	return text
}

// endpoints returns all nodes, control planes first.
func (s Spec) endpoints() []network.Endpoint {
	var all []network.Endpoint
	for n := range s.ControlPlanes {
		all = append(all, network.ControlPlane(n+1))
	}
	for n := range s.Workers {
		all = append(all, network.Worker(n+1))
	}
	return all
}

// state is stored in the lab's folder: how the lab was made.
type state struct {
	Spec     Spec   `json:"spec"`
	CacheDir string `json:"cacheDir"`
	// Token and CertificateKey are kubeadm's, for nodes that join.
	Token          string `json:"token"`
	CertificateKey string `json:"certificateKey"`
	// Complete is true once all nodes were Ready.
	Complete bool `json:"complete"`
}

// Cluster is a lab that is up, or being made.
type Cluster struct {
	Dir    string
	Report artifacts.Reporter
	state  state
}

// ErrNone means that there is no lab.
var ErrNone = errors.New("there is no lab: make one with `lab up`")

// Open opens the lab in a folder. It returns ErrNone if there is none.
func Open(dir string) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the lab: %w", err)
	}
	c := &Cluster{Dir: dir, Report: artifacts.Silent}
	data, err := os.ReadFile(c.stateFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, fmt.Errorf("opening the lab: %w", err)
	}
	if err := json.Unmarshal(data, &c.state); err != nil {
		return nil, fmt.Errorf("opening the lab: %s: %w", c.stateFile(), err)
	}
	return c, nil
}

func (c *Cluster) save() error {
	data, err := json.MarshalIndent(c.state, "", "  ")
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(c.stateFile(), data, 0o600); err != nil {
		return fmt.Errorf("recording the lab: %w", err)
	}
	return nil
}

// Spec returns the spec that the lab was made with; an upgrade does not change it.
func (c *Cluster) Spec() Spec { return c.state.Spec }

// Nodes returns the names of all nodes, control planes first.
func (c *Cluster) Nodes() []string {
	var names []string
	for _, endpoint := range c.state.Spec.endpoints() {
		names = append(names, endpoint.Name)
	}
	return names
}

// Node returns the machine with that name.
func (c *Cluster) Node(name string) (*node.Machine, error) {
	for _, known := range c.Nodes() {
		if known == name {
			return node.Open(c.nodeDir(name))
		}
	}
	return nil, fmt.Errorf("there is no node %q: there are %v", name, c.Nodes())
}

// Kubeconfig returns the path of the administrator's kubeconfig. Its server is the
// load balancer of all apiservers.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.Dir, "kubeconfig") }

// KubectlPath returns the path of the lab's kubectl.
func (c *Cluster) KubectlPath() string { return filepath.Join(c.BinDir(), "kubectl") }

// BinDir returns the folder for PATH: it has kubectl.
func (c *Cluster) BinDir() string { return filepath.Join(c.Dir, "bin") }

// CacheDir returns the folder of the files that labs are made from. Down keeps it.
func (c *Cluster) CacheDir() string { return c.state.CacheDir }

// Cache opens that folder. What is not in it is made, or downloaded, as the lab's spec
// says.
func (c *Cluster) Cache() (*artifacts.Cache, error) {
	cache, err := artifacts.Open(c.CacheDir(), c.Report)
	if err != nil {
		return nil, err
	}
	cache.Origin, err = artifacts.ParseOrigin(c.state.Spec.From)
	return cache, err
}

// LogDir returns the folder of kubeadm's output, one file for each node.
func (c *Cluster) LogDir() string { return filepath.Join(c.Dir, "log") }

// ServeDir returns the folder for package serve's functions.
func (c *Cluster) ServeDir() string { return filepath.Join(c.Dir, "serve") }

func (c *Cluster) stateFile() string          { return filepath.Join(c.Dir, "lab.json") }
func (c *Cluster) nodesDir() string           { return filepath.Join(c.Dir, "nodes") }
func (c *Cluster) nodeDir(name string) string { return filepath.Join(c.nodesDir(), name) }
func (c *Cluster) joinedMark(name string) string {
	return filepath.Join(c.nodeDir(name), "joined")
}
func (c *Cluster) program() string      { return filepath.Join(c.BinDir(), "lab") }
func (c *Cluster) updateEngine() string { return filepath.Join(c.BinDir(), updateEngine) }
func (c *Cluster) serveRecord() string  { return filepath.Join(c.Dir, "serve.json") }
func (c *Cluster) kernelRecord() string { return filepath.Join(c.Dir, "kernel.json") }
func (c *Cluster) modulesRecord() host.Record {
	return host.Record(filepath.Join(c.Dir, "modules.json"))
}
func (c *Cluster) firewallRecord() host.Record {
	return host.Record(filepath.Join(c.Dir, "firewall.json"))
}
