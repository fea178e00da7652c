// Package scenario has what the demo and the end-to-end tests share: install the
// product on a lab, run a web service on it, wait, and report what happened. It drives the lab and the cluster as a user does, by commands.
package scenario

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Lab is a running lab, used through its commands.
type Lab struct {
	Program    string // bin/lab
	Kubectl    string
	Kubeconfig string
	Out        io.Writer // what commands print; nil: nowhere
}

// OpenLab returns the lab that `lab up` made.
func OpenLab(program, state string) Lab {
	return Lab{
		Program:    program,
		Kubectl:    filepath.Join(state, "bin", "kubectl"),
		Kubeconfig: filepath.Join(state, "kubeconfig"),
	}
}

// Lab runs a subcommand of lab and returns what it printed.
func (l Lab) Lab(ctx context.Context, args ...string) (string, error) {
	return l.run(exec.CommandContext(ctx, l.Program, args...))
}

// Exec runs a command on a node.
func (l Lab) Exec(ctx context.Context, node string, args ...string) (string, error) {
	return l.Lab(ctx, append([]string{"exec", node, "--"}, args...)...)
}

// Kube runs kubectl against the lab's cluster.
func (l Lab) Kube(ctx context.Context, args ...string) (string, error) {
	return l.run(exec.CommandContext(ctx, l.Kubectl, append([]string{"--kubeconfig", l.Kubeconfig}, args...)...))
}

// KubeApply applies a manifest that is given as text.
func (l Lab) KubeApply(ctx context.Context, manifest string) error { return l.apply(ctx, manifest) }

func (l Lab) apply(ctx context.Context, manifest string, flags ...string) error {
	cmd := exec.CommandContext(ctx, l.Kubectl, append([]string{"--kubeconfig", l.Kubeconfig, "apply", "--server-side", "--force-conflicts", "-f", "-"}, flags...)...)
	cmd.Stdin = strings.NewReader(manifest)
	_, err := l.run(cmd)
	return err
}

// Upgrade runs the plugin as `kubectl upgrade …` does.
func (l Lab) Upgrade(ctx context.Context, args ...string) (string, error) {
	plugin := filepath.Join(filepath.Dir(l.Program), "kubectl-upgrade")
	return l.run(exec.CommandContext(ctx, plugin, append([]string{"--kubeconfig", l.Kubeconfig}, args...)...))
}

func (l Lab) run(cmd *exec.Cmd) (string, error) {
	var out bytes.Buffer
	var all shared
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, &all), &all
	if l.Out != nil {
		all.also = l.Out
	}
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	if err := cmd.Run(); err != nil {
		return all.text.String(), fmt.Errorf("running %s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(all.text.String()))
	}
	return out.String(), nil
}

// shared is written to by a command's two outputs at once.
type shared struct {
	mu   sync.Mutex
	text bytes.Buffer
	also io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.also != nil {
		if _, err := s.also.Write(p); err != nil {
			return 0, err
		}
	}
	return s.text.Write(p)
}
