// Package serve has the services of the lab's bridge: a server with Kubernetes
// images, a registry with container images, and a load balancer for all apiservers.
//
// Their state is on disk. The functions that change it need no running server, and
// a running server uses the change at once.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Config says where to listen and where the state is.
type Config struct {
	// StateDir is the folder that Publish, SetBackends and their like write.
	StateDir string
	// Images, Registry and Balancer are the addresses to listen on,
	// "10.88.0.1:8080". An empty one is not served.
	Images, Registry, Balancer string
}

// server is one of the three, with its address.
type server struct {
	name, address string
	serve         func(context.Context, net.Listener) error
}

// Run serves until the context ends, which is no error, or until one of the
// servers fails, which ends the others. It listens on all addresses before it
// answers on any.
func Run(ctx context.Context, config Config) error {
	registry, err := newRegistry(config.StateDir)
	if err != nil {
		return fmt.Errorf("opening the registry: %w", err)
	}
	images, err := newImageServer(config.StateDir)
	if err != nil {
		return fmt.Errorf("opening the image server: %w", err)
	}
	defer images.close()
	return runAll(ctx, []server{
		{"image server", config.Images, serveHTTP(images)},
		{"registry", config.Registry, serveHTTP(registry)},
		{"balancer", config.Balancer, newBalancer(config.StateDir).serve},
	})
}

func runAll(ctx context.Context, servers []server) error {
	listeners := map[string]net.Listener{}
	for _, s := range servers {
		if s.address == "" {
			continue
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
		if err != nil {
			for _, opened := range listeners {
				opened.Close()
			}
			return fmt.Errorf("opening the %s: %w", s.name, err)
		}
		listeners[s.name] = listener
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	failures := make(chan error, len(servers))
	for _, s := range servers {
		listener, ok := listeners[s.name]
		if !ok {
			continue
		}
		running.Go(func() {
			defer stop()
			if err := s.serve(ctx, listener); err != nil {
				failures <- fmt.Errorf("running the %s: %w", s.name, err)
			}
		})
	}
	running.Wait()
	close(failures)
	var all []error
	for err := range failures {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// serveHTTP ends open requests with the context: a node that waits for the
// rest of an image would keep the lab from going down.
func serveHTTP(handler http.Handler) func(context.Context, net.Listener) error {
	return func(ctx context.Context, listener net.Listener) error {
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		stop := context.AfterFunc(ctx, func() { server.Close() })
		defer stop()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}
