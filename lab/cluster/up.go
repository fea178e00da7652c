package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/node"
)

// Options say which lab to make, and where.
type Options struct {
	// Dir is the lab's folder, and CacheDir the folder that Down keeps.
	Dir, CacheDir string
	Spec          Spec
	// Program is the `lab` program, which keeps nodes running. A copy of it
	// goes into Dir. Empty: the program that runs now.
	Program string
	// Report is called for each step, if it is not nil.
	Report artifacts.Reporter
}

// Up makes a lab, continues to make one, or powers on its nodes: it does what is
// missing. already reports whether nothing was missing. A lab with another spec is
// an error. If its context ends, it leaves what it has made for the next Up or for
// Down.
func Up(ctx context.Context, options Options) (c *Cluster, already bool, err error) {
	if err := options.Spec.Validate(); err != nil {
		return nil, false, err
	}
	if err := host.Require(); err != nil {
		return nil, false, err
	}
	if err := requireGroups(options.Spec.Base); err != nil {
		return nil, false, err
	}
	if options.Spec.ClusterAPI || options.Spec.Ignition != "" {
		if err := node.RequireIgnition(); err != nil {
			return nil, false, err
		}
	}
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, false, err
	}
	unlock, err := lock(dir)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	if c, err = openOrBegin(dir, options); err != nil {
		return nil, false, err
	}
	if c.running() {
		// A firewall that was restarted meanwhile has forgotten the lab's rules.
		return c, true, network.Admit(ctx, c.firewallRecord())
	}
	return c, false, c.up(ctx, options.Program)
}

// openOrBegin opens the lab, or records the plan for one.
func openOrBegin(dir string, options Options) (*Cluster, error) {
	c, err := Open(dir)
	switch {
	case errors.Is(err, ErrNone):
		c, err = begin(dir, options)
	case err == nil && c.state.Spec != options.Spec:
		err = fmt.Errorf("there is another lab (%s): take it down with `lab down` first", c.state.Spec)
	}
	if err != nil {
		return nil, err
	}
	if options.Report != nil {
		c.Report = options.Report
	}
	return c, nil
}

func begin(dir string, options Options) (*Cluster, error) {
	cache, err := filepath.Abs(options.CacheDir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, Report: artifacts.Silent, state: state{
		Spec: options.Spec, CacheDir: cache, Token: newToken(), CertificateKey: newCertificateKey()}}
	if err := c.requireRoom(); err != nil {
		return nil, err
	}
	return c, c.save()
}

// running reports whether all that Up makes is there and alive.
func (c *Cluster) running() bool {
	if !c.state.Complete || !c.serving() || c.state.Spec.ClusterAPI && !c.managing() {
		return false
	}
	for _, name := range c.Nodes() {
		machine, err := c.Node(name)
		if err != nil {
			return false
		}
		if on, err := machine.On(); err != nil || !on {
			return false
		}
	}
	return true
}

func (c *Cluster) up(ctx context.Context, program string) error {
	// What this machine may refuse comes before what takes minutes.
	if err := c.step("this machine: bridge, kernel and firewall", func() error { return c.prepare(ctx) }); err != nil {
		return err
	}
	parts, err := c.parts(ctx)
	if err != nil {
		return err
	}
	if err := c.install(program, parts.Kubernetes.BinDir); err != nil {
		return err
	}
	if err := c.offer(ctx, parts.Kubernetes); err != nil {
		return err
	}
	form := c.form
	if c.state.Spec.ClusterAPI {
		form = c.formByClusterAPI
	}
	if err := form(ctx, parts); err != nil {
		return err
	}
	c.state.Complete = true
	return c.save()
}

// prepare makes this machine ready for nodes. The bridge comes first: it shows
// whether another lab is up, before anything is changed.
func (c *Cluster) prepare(ctx context.Context) error {
	if err := host.RequireLayers(c.Dir, c.CacheDir()); err != nil {
		return err
	}
	if err := network.Up(ctx, c.Dir, c.state.Spec.endpoints()); err != nil {
		return err
	}
	if err := host.LoadModules(ctx, c.modulesRecord()); err != nil {
		return err
	}
	if err := host.Tune(c.kernelRecord()); err != nil {
		return err
	}
	return network.Admit(ctx, c.firewallRecord())
}

func (c *Cluster) step(name string, do func() error) error {
	step := c.Report(name)
	err := do()
	step.End(err)
	return err
}

// lock prevents a second Up or Down on the same lab.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("opening the lab's folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lab's folder: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another `lab up` or `lab down` is at work in %s: wait for it", dir)
	}
	return func() { f.Close() }, nil
}
