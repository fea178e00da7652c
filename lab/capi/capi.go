// Package capi has Cluster API make the lab's cluster: its own controllers run on this machine, and
// the machines that they ask for are nodes of the lab.
//
// What is Cluster API's stays as it is: its controllers are compiled from their published sources and
// run with their webhooks; each node boots with the Ignition configuration that the bootstrap
// provider rendered, joins by the kubeadm.service in it, and gets Kubernetes from the image that its
// additionalConfig names. The management cluster is an etcd, a kube-apiserver and the garbage
// collector, without nodes. All state is in one folder: Run may be killed at any moment, and goes on
// when it is called again.
//
// What a real infrastructure provider has and this one has not: failure domains, machine pools and
// conversion of older API versions.
package capi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Names of the objects that make the cluster, in namespace Namespace.
const (
	Namespace    = "default"
	ClusterName  = "lab"
	ControlPlane = "lab-control-plane"
	Workers      = "lab-workers"
)

// Machines are the lab's machines, as the infrastructure provider uses them.
type Machines interface {
	// Names returns the names of the machines that the lab has room for.
	Names(controlPlane bool) []string
	// Address is the machine's, also before it is made.
	Address(name string) (string, error)
	// Boot makes a machine with empty disks that boots first with an Ignition configuration of
	// version 3, in place of a machine with that name. It returns when containerd answers.
	Boot(ctx context.Context, name string, ignition []byte) error
	// Discard removes a machine. One that is not there is no error.
	Discard(ctx context.Context, name string) error
}

// Config is what Run needs.
type Config struct {
	// Dir is the folder of the management cluster.
	Dir string
	// Kubernetes, Etcd and ClusterAPI are the folders of programs that package artifacts made.
	Kubernetes, Etcd, ClusterAPI string
	Machines                     Machines
}

// Kubeconfig returns the path of the kubeconfig of the management cluster in a folder.
func Kubeconfig(dir string) string { return filepath.Join(dir, "kubeconfig") }

// Ready reports whether Run has started everything in a folder.
func Ready(dir string) bool {
	_, err := os.Stat(readyMark(dir))
	return err == nil
}

func readyMark(dir string) string { return filepath.Join(dir, "ready") }

// Run runs the management cluster, Cluster API and the infrastructure provider until the context ends,
// or until one of their programs ends, which is an error.
func Run(ctx context.Context, config Config) error {
	if err := os.Remove(readyMark(config.Dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("starting Cluster API: %w", err)
	}
	m := &management{Config: config}
	defer m.stop()
	if err := m.start(ctx); err != nil {
		return fmt.Errorf("starting Cluster API: %w", err)
	}
	provider, err := newProvider(m.client, config.Machines)
	if err != nil {
		return err
	}
	if err := os.WriteFile(readyMark(config.Dir), nil, 0o644); err != nil {
		return fmt.Errorf("starting Cluster API: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- m.wait(ctx); cancel() }()
	provider.run(ctx)
	return <-ended
}
