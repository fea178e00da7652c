package scenario

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/client"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cluster"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
)

// StartClient starts the client machine on the lab's bridge, with routes to the
// pods of the nodes named, and the kube-proxy of that version.
func (l Lab) StartClient(ctx context.Context, version, dir string, nodes ...string) (*client.Client, error) {
	routes := map[string]string{}
	for _, name := range nodes {
		node, err := network.Lookup(name)
		if err != nil {
			return nil, err
		}
		routes[node.Pods.String()] = node.Address.String()
	}
	lab, err := cluster.Open(filepath.Dir(l.Kubeconfig))
	if err != nil {
		return nil, err
	}
	store, err := lab.Cache()
	if err != nil {
		return nil, err
	}
	kubernetes, err := store.Kubernetes(ctx, strings.TrimPrefix(version, "v"))
	if err != nil {
		return nil, err
	}
	return client.Start(ctx, client.Config{
		Name:       "lab-client",
		Bridge:     network.Bridge,
		Address:    "10.88.0.9/24",
		Gateway:    network.Host,
		Routes:     routes,
		KubeProxy:  kubernetes.BinDir + "/kube-proxy",
		Kubeconfig: l.Kubeconfig,
		Node:       nodes[0],
		Dir:        dir,
	})
}
