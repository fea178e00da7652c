package facts

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Gather returns what the verb "facts" finds on the node.
func Gather(ctx context.Context, l host.Layout, log *host.Log) (verb.HostFacts, error) {
	found, err := host.Gather(l)
	if err != nil {
		return verb.HostFacts{}, err
	}
	soft, err := l.SoftReboots(ctx, log, host.RunProgram)
	if err != nil {
		return verb.HostFacts{}, err
	}
	var problem error
	if found.Confs, problem = sysupdate.Confs(l); problem != nil {
		found.ConfProblem = problem.Error()
	}
	found.Armed = sysupdate.Armed(l)
	g := newGatherer(l, func(name string) (service, error) { return askSystemd(ctx, name) })
	g.handshake = func(address, client string) ([]byte, error) { return servedAt(ctx, l, address, client) }
	found.Node = g.forChecks(time.Now())
	g.ofOwnKubelet(ctx, &found)
	found.Plugins = g.plugins(ctx)
	found.Node.DefinitionsProblem = found.ConfProblem
	found.SoftReboots, found.Node.SoftRebootBlocker = soft.Count, soft.Problem
	return found, nil
}

// ofOwnKubelet adds what the node's kubelet runs, and what is wrong with it. A component counts
// also if its manifest cannot be understood: a control plane does not become a worker by that.
func (g *gatherer) ofOwnKubelet(ctx context.Context, found *verb.HostFacts) {
	found.StaticPods = g.tags
	found.ControlPlane, found.EtcdMember = g.own.HasManifest("kube-apiserver"), g.own.HasManifest("etcd")
	if g.own.Runs() || found.Unsupported == nil { // otherwise another unit may run it
		found.KubeletProblem = g.own.Problem(ctx)
	}
}

// forChecks collects the facts that preflight checks need, except Installed and Etcd, which the
// agent adds.
func (g *gatherer) forChecks(now time.Time) v1alpha1.NodeFacts {
	g.now = now
	g.facts.GatheredTime = metav1.NewTime(now.UTC().Truncate(time.Second))
	for _, collect := range []func(){
		g.cgroup, g.kubelet, g.staticPods, g.ownAPIServer, g.disks, g.certificates, g.patches, g.foreignUpdates, g.mounts,
	} {
		g.protect(collect)
	}
	g.facts.Problems = slices.Sorted(maps.Keys(g.problems))
	return g.facts
}

type gatherer struct {
	host.Layout
	// ask asks systemd about a service.
	ask      func(name string) (service, error)
	own      *Kubelet          // the node's
	tags     map[string]string // verb.HostFacts.StaticPods
	facts    v1alpha1.NodeFacts
	problems map[string]bool
	now      time.Time
	// chains are the certificates in files, by their paths.
	chains map[string][]*x509.Certificate
	// others are the static pods that are not the control plane's.
	others []corev1.Pod
	// handshake returns the certificate that a program serves with at an address, see servedAt. Nil: none is asked.
	handshake func(address, client string) ([]byte, error)
}

func newGatherer(l host.Layout, ask func(name string) (service, error)) *gatherer {
	g := &gatherer{Layout: l, ask: ask, problems: map[string]bool{}, chains: map[string][]*x509.Certificate{}}
	g.own = &Kubelet{g: g}
	return g
}

func (g *gatherer) problem(format string, args ...any) {
	g.problems[fmt.Sprintf(format, args...)] = true
}

// protect turns a panic into a problem, so that a bug that one file triggers does not lose
// the other facts.
func (g *gatherer) protect(collect func()) {
	defer func() {
		if p := recover(); p != nil {
			g.problem("a bug in this program: %v", p)
		}
	}()
	collect()
}

// largest is the size of the largest file that is read.
const largest = 1 << 20

// read reads a file of the node. It opens only regular files: a named pipe would block
// forever.
func (g *gatherer) read(path string) ([]byte, error) {
	info, err := os.Stat(g.At(path))
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("it is not a regular file")
	case info.Size() > largest:
		err = fmt.Errorf("it has %d bytes, and at most %d are read", info.Size(), largest)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(g.At(path))
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, cause(err))
	}
	return data, nil
}

// readIfThere reads a file. It returns nil if the file does not exist, or if it cannot be
// read, which it adds to the problems.
func (g *gatherer) readIfThere(path string) []byte {
	data, err := g.read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.problem("%v", err)
	}
	return data
}

// list returns the sorted names of the files in a folder; none if it does not exist.
func (g *gatherer) list(dir string) []string {
	entries, err := os.ReadDir(g.At(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.problem("listing %s: %v", dir, cause(err))
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// cause returns the error without the path, which the message names already.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
