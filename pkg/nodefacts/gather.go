package nodefacts

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// Gather collects the facts about the node, except Installed and Etcd, which the agent
// adds.
func Gather(l host.Layout, now time.Time) v1alpha1.NodeFacts {
	g := &gatherer{Layout: l, problems: map[string]bool{}}
	g.facts.GatheredTime = metav1.NewTime(now.UTC().Truncate(time.Second))
	for _, look := range []func(){
		g.cgroup, g.kubelet, g.disks, g.certificates, g.patches, g.foreignUpdates, g.mounts,
	} {
		g.protect(look)
	}
	g.facts.Problems = slices.Sorted(maps.Keys(g.problems))
	return g.facts
}

type gatherer struct {
	host.Layout
	facts    v1alpha1.NodeFacts
	problems map[string]bool
}

func (g *gatherer) problem(format string, args ...any) {
	g.problems[fmt.Sprintf(format, args...)] = true
}

// protect keeps a bug that one file on one node brings to light from taking
// every other fact away.
func (g *gatherer) protect(look func()) {
	defer func() {
		if p := recover(); p != nil {
			g.problem("a bug in this program: %v", p)
		}
	}()
	look()
}

// largest is more than any file that we read has.
const largest = 1 << 20

// read reads a file of the node. What is not a plain file is not opened: a
// named pipe would wait for ever.
func (g *gatherer) read(path string) ([]byte, error) {
	info, err := os.Stat(g.At(path))
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("it is not a plain file")
	case info.Size() > largest:
		err = fmt.Errorf("it has %d bytes, and %d are the most that is looked at", info.Size(), largest)
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

// readIfThere returns nil where there is no such file, and where it cannot be read,
// which is a problem.
func (g *gatherer) readIfThere(path string) []byte {
	data, err := g.read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.problem("%v", err)
	}
	return data
}

// list names what is in a folder, in order; nothing where there is none.
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

// cause leaves out the path, which the sentence has already.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
