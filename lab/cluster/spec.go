package cluster

import (
	"errors"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
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
	// Ignition is the path of an Ignition configuration that every node boots with for the first
	// time. It brings Kubernetes. Empty: the lab does.
	Ignition string `json:"ignition,omitempty"`
	// Kubeadm are documents of kubeadm's configuration that change the lab's own, each the one of its kind.
	Kubeadm string `json:"kubeadm,omitempty"`
	// Base is the Debian of the nodes. Empty: artifacts.DefaultBase.
	Base artifacts.Base `json:"base,omitempty"`
	// Containerd is the major version of containerd, 1 or 2. 0: that of the base.
	Containerd int `json:"containerd,omitempty"`
	// ClusterAPI has Cluster API make the cluster, from a management cluster on this machine. Its
	// additionalConfig brings Kubernetes to the nodes.
	ClusterAPI bool `json:"clusterAPI,omitempty"`
	// ClusterClass has a ClusterClass make the cluster of ClusterAPI.
	ClusterClass bool `json:"clusterClass,omitempty"`
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
	if s.ClusterClass && !s.ClusterAPI {
		return errors.New("--cluster-class is for a cluster that Cluster API makes: add --cluster-api")
	}
	if s.ClusterAPI && (s.Ignition != "" || s.From != "") {
		return errors.New("Cluster API renders the nodes' Ignition configuration itself, and its management cluster is compiled: leave out --ignition and --from") //nolint:staticcheck // a name
	}
	if _, err := merge("", s.Kubeadm); err != nil {
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
	if s.Ignition != "" {
		text += ", with Ignition"
	}
	if s.Kubeadm != "" {
		text += ", with changes of kubeadm's configuration"
	}
	if s.Base != "" {
		text += ", on Debian " + s.Base.String()
	}
	if s.Containerd != 0 {
		text += fmt.Sprintf(", with containerd %d", s.Containerd)
	}
	if s.ClusterAPI {
		text += ", made by Cluster API"
	}
	if s.ClusterClass {
		text += " from a ClusterClass"
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

// Spec returns the spec that the lab was made with; an upgrade does not change it.
func (c *Cluster) Spec() Spec { return c.state.Spec }
