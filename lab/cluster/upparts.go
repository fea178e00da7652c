package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
)

// parts are what nodes are made of.
type parts struct {
	Rootfs, Containerd string
	Kubernetes         artifacts.Kubernetes
}

func (c *Cluster) parts(ctx context.Context) (p parts, err error) {
	version, err := bare(c.state.Spec.Version)
	if err != nil {
		return p, err
	}
	cache, err := c.Cache()
	if err != nil {
		return p, err
	}
	if p.Rootfs, err = cache.Rootfs(ctx, c.state.Spec.Base); err != nil {
		return p, err
	}
	if p.Containerd, err = cache.Containerd(ctx, c.state.Spec.Base, c.state.Spec.Containerd); err != nil {
		return p, err
	}
	p.Kubernetes, err = cache.Kubernetes(ctx, version)
	return p, err
}

// install copies into the lab the programs that must not change while it runs,
// even if they are built again meanwhile.
func (c *Cluster) install(program, kubernetes string) error {
	if program == "" {
		own, err := os.Executable()
		if err != nil {
			return fmt.Errorf("finding the lab program: %w", err)
		}
		program = own
	}
	programs := map[string]string{
		c.program():     program,
		c.KubectlPath(): filepath.Join(kubernetes, "kubectl"),
	}
	if c.state.Spec.UpdateEngine {
		programs[c.updateEngine()] = filepath.Join(filepath.Dir(program), updateEngine)
	}
	for target, source := range programs {
		if err := copyProgram(source, target); err != nil {
			return fmt.Errorf("installing %s: %w", target, err)
		}
	}
	return nil
}
