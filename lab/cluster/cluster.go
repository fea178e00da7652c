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
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/node"
)

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
