// Package serve is what the lab's bridge offers to its nodes: Kubernetes
// images to update from, a registry to pull container images from, and one
// address for all apiservers.
//
// Whatever it offers is state on disk. The functions that change the state
// need no running server, and a running server sees the change at once.
package serve

import (
	"context"
)

// Config says where to listen and where the state is.
type Config struct {
	// StateDir is the folder that Publish, SetBackends and their like write.
	StateDir string
	// Images, Registry and Balancer are the addresses to listen on,
	// "10.88.0.1:8080". An empty one is not served.
	Images, Registry, Balancer string
}

// Run serves until the context ends, which is no error, or until one of the
// servers fails, which ends the others.
func Run(ctx context.Context, config Config) error {
	<-ctx.Done()
	return nil
}
