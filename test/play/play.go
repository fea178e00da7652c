package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// world is all that runs.
type world struct {
	*screen
	folder  string // goes with it
	bin     string // the folder of the coordinator and the plugin
	servers programs
	images  *source
	nodes   int
	options

	clusters []*cluster
	agents   sync.WaitGroup
}

// options are for those who run clusters beside others.
type options struct {
	speed           float64
	source, address string
}

// play runs clusters until ctx ends, and leaves nothing.
func play(ctx context.Context, s *screen, clusters, size int, options options) (err error) {
	began := time.Now()
	s.say("All nodes here are pretended: no machine is touched. Real are etcd, kube-apiserver, the coordinator,\n" +
		"the code of the agents, and kubectl upgrade. No controller of Kubernetes runs: roles are not aggregated,\n" +
		"Jobs of hooks do not run, and PodDisruptionBudgets allow nothing.")
	w := &world{screen: s, nodes: size, options: options}
	if w.bin, err = checkout(); err != nil {
		return err
	}
	if w.servers, err = obtain(ctx, s); err != nil {
		return err
	}
	if w.folder, err = os.MkdirTemp("", "kubectl-upgrade-play-"); err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(w.folder)
	if w.images, err = newSource(s, options.source); err != nil {
		return err
	}
	defer w.images.server.Close()
	running, stop := context.WithCancel(ctx)
	defer w.stop(stop)
	s.say("Starting %s of %s.", plural(clusters, "cluster"), plural(size, "node"))
	if err := w.startAll(running, names(clusters)); err != nil {
		return err
	}
	if err := cmp.Or(w.writeKubeconfig(), w.writeTerminal(ctx)); err != nil {
		return err
	}
	s.say(welcome, time.Since(began).Round(time.Second), quote(w.terminal()))
	ended := make(chan string, 1)
	for _, c := range w.clusters {
		for _, p := range append(c.server.Processes(), c.coordinator) {
			go func() { <-p.Done; ended <- fmt.Sprintf("%s of %s has ended", p.Name, c.name) }()
		}
	}
	select {
	case <-ctx.Done():
	case what := <-ended:
		if pause(ctx, time.Second); ctx.Err() == nil { // Ctrl-C reaches all programs of a terminal
			err = errors.New(what)
		}
	}
	s.say("\nEnding: all clusters are removed.")
	return err
}

const welcome = `Ready after %s. Type this in another terminal, and go on with docs/play.md, a tour of five minutes:

  . %s
  kubectl upgrade fleet status

Ctrl-C in this one ends everything. It shows what happens on the nodes:
`

// checkout returns the folder of this program, in which the other ones are, too.
func checkout() (bin string, err error) {
	if _, err := os.Stat("manifests/kustomization.yaml"); err != nil {
		return "", errors.New("it has to run in the folder of the checkout: type `make play` there")
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("looking for this program: %w", err)
	}
	bin = filepath.Dir(self)
	for _, name := range []string{"coordinator", "kubectl-upgrade"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return "", fmt.Errorf("%s is missing: `make play` builds it", filepath.Join(bin, name))
		}
	}
	return bin, nil
}

// names returns the clusters' names, which are their contexts.
func names(number int) []string {
	all := []string{"dev", "staging", "prod"}
	for i := 2; len(all) < number; i++ {
		all = append(all, fmt.Sprintf("prod-%d", i))
	}
	return all[:number]
}

// startAll starts all clusters at once, and returns the first error.
func (w *world) startAll(ctx context.Context, names []string) error {
	starting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w.clusters = make([]*cluster, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		w.clusters[i] = &cluster{world: w, name: name, first: i == 0}
		group.Go(func() {
			if err := w.clusters[i].start(starting, ctx); err != nil {
				stop(fmt.Errorf("cluster %s: %w", name, err))
			}
		})
	}
	group.Wait()
	return context.Cause(starting)
}

// stop ends everything.
func (w *world) stop(agents context.CancelFunc) {
	agents()
	w.agents.Wait()
	var group sync.WaitGroup
	for _, c := range w.clusters {
		group.Go(c.stop)
	}
	group.Wait()
}

// writeKubeconfig writes the file with a context for each cluster, and that with a stage for each.
func (w *world) writeKubeconfig() error {
	file := api.NewConfig()
	for _, c := range w.clusters {
		c.addTo(file)
	}
	file.CurrentContext = w.clusters[0].name
	fleet := "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: Fleet\nstages:\n"
	for _, c := range w.clusters {
		fleet += fmt.Sprintf("  - {name: %[1]s, contexts: [%[1]s]}\n", c.name)
	}
	if err := os.WriteFile(w.fleet(), []byte(fleet), 0o600); err != nil {
		return fmt.Errorf("writing the file of the fleet: %w", err)
	}
	if err := clientcmd.WriteToFile(*file, w.kubeconfig()); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

func (w *world) kubeconfig() string { return filepath.Join(w.folder, "kubeconfig") }
func (w *world) fleet() string      { return filepath.Join(w.folder, "fleet.yaml") }

func plural(number int, what string) string {
	if number == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", number, what)
}

// pause waits, and returns at once when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
