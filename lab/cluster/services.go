package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/process"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/serve"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// The addresses of the bridge's services.
const (
	imageServer = network.Host + ":8080"
	registry    = network.Host + ":5000"
)

// Serve runs the bridge's services until the context ends: the image server, the
// registry, and the load balancer of the apiservers.
func (c *Cluster) Serve(ctx context.Context) error {
	// The process records itself, so that it is known even if its parent is killed
	// right after starting it.
	self, err := process.Of(os.Getpid())
	if err != nil {
		return err
	}
	if err := process.Save(c.serveRecord(), self); err != nil {
		return err
	}
	return serve.Run(ctx, serve.Config{StateDir: c.ServeDir(), Images: imageServer, Registry: registry, Balancer: apiEndpoint})
}

// offer starts the services, and fills them with one version of Kubernetes.
func (c *Cluster) offer(ctx context.Context, kubernetes artifacts.Kubernetes) error {
	return c.step("image server, registry and balancer", func() error {
		if err := c.setBackends(); err != nil {
			return err
		}
		if err := c.startServing(ctx); err != nil {
			return err
		}
		if err := c.pushImages(ctx, kubernetes); err != nil {
			return err
		}
		return serve.Publish(c.ServeDir(), kubernetes.Sysext, kubernetes.Version, serve.PublishOptions{})
	})
}

func (c *Cluster) setBackends() error {
	var apiservers []string
	for _, endpoint := range c.state.Spec.endpoints()[:c.state.Spec.ControlPlanes] {
		apiservers = append(apiservers, net.JoinHostPort(endpoint.Address.String(), "6443"))
	}
	if err := os.MkdirAll(c.ServeDir(), 0o755); err != nil {
		return fmt.Errorf("making the services' folder: %w", err)
	}
	return serve.SetBackends(c.ServeDir(), apiservers)
}

func (c *Cluster) serving() bool {
	_, running, err := process.Load(c.serveRecord())
	return err == nil && running
}

// startServing starts the services in their own session, and returns when they
// listen.
func (c *Cluster) startServing(ctx context.Context) error {
	if c.serving() {
		return nil
	}
	log, ended, err := c.background(ctx, "serve")
	if err != nil {
		return fmt.Errorf("starting the services: %w", err)
	}
	for _, address := range []string{imageServer, registry, apiEndpoint} {
		if err := waitListening(ctx, address, ended); err != nil {
			return fmt.Errorf("starting the services: %w (log: %s)", err, log)
		}
	}
	return nil
}

// background starts a hidden command of the lab in a session of its own, with a log that has its name.
// It runs on after its parent has ended.
func (c *Cluster) background(ctx context.Context, command string) (logName string, ended <-chan error, err error) {
	logName = filepath.Join(c.Dir, command+".log")
	log, err := os.OpenFile(logName, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return "", nil, err
	}
	defer log.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.program(), command, "--state", c.Dir)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	result := make(chan error, 1)
	go func() { result <- cmd.Wait() }()
	return logName, result, nil
}

func waitListening(ctx context.Context, address string, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scale(20*time.Second))
	defer cancel()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return connection.Close()
		}
		select {
		case err := <-ended:
			return errors.Join(errors.New("they ended at once"), err)
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", address, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (c *Cluster) pushImages(ctx context.Context, kubernetes artifacts.Kubernetes) error {
	for _, image := range kubernetes.Images {
		if err := serve.PushTar(ctx, registry, image.Tar); err != nil {
			return err
		}
	}
	return nil
}
