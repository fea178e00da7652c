// Package demo shows what the product does: a new Kubernetes patch is installed on
// every node of a real cluster with no further command, while a web service on
// it answers every request. The cluster stays up afterwards.
package demo

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/client"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

const (
	from = "v1.34.3"
	to   = "v1.34.4"
)

// Options are the paths that the demo uses.
type Options struct {
	Program string // bin/lab itself
	State   string // the lab's state directory
	Source  string // the checkout
	Image   string // of the product, as made by `make image`
	From    string // where Kubernetes is downloaded from; empty: it is compiled
	Out     io.Writer
}

type demo struct {
	Options
	lab scenario.Lab
}

// Run runs the demo, and prints what happens.
func Run(ctx context.Context, options Options) error {
	d := demo{Options: options, lab: scenario.OpenLab(options.Program, options.State)}
	d.lab.Out = options.Out
	d.say("A real cluster of one control plane and two workers, running Kubernetes %s.", from)
	if err := d.show(ctx, "up", "--control-planes", "1", "--workers", "2", "--version", from, "--from", d.From); err != nil {
		return err
	}
	d.say("kubectl-upgrade is installed, as on any cluster: kubectl apply -k manifests.")
	if err := d.lab.Install(ctx, d.Source, d.Image); err != nil {
		return err
	}
	d.say("A web service of two pods, to which a client sends twenty requests a second.")
	prober, stop, err := d.startWeb(ctx)
	if err != nil {
		return err
	}
	defer stop()
	wanted := scenario.Automatic(v1alpha1.TypePatch) + "---" + scenario.OpenSchedule
	d.say("All that a user writes and keeps in Git:\n%s", wanted)
	if err := d.lab.KubeApply(ctx, wanted); err != nil {
		return err
	}
	d.say("The image server offers Kubernetes %s. No further command is needed.", to)
	if err := d.show(ctx, "publish", to); err != nil {
		return err
	}
	if err := d.follow(ctx); err != nil {
		return err
	}
	return d.conclude(ctx, prober)
}

func (d demo) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.Out, "\n==> "+format+"\n", args...)
}

// show runs a subcommand of lab on this terminal, if it is one: it shows its progress.
func (d demo) show(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, d.Program, args...)
	cmd.Stdout, cmd.Stderr = d.Out, d.Out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running %s: %w", strings.Join(cmd.Args, " "), err)
	}
	return nil
}

// startWeb starts the web service and a client that sends requests to it. It returns
// the client, and a function that stops it.
func (d demo) startWeb(ctx context.Context) (*client.Prober, func(), error) {
	address, err := d.lab.StartWeb(ctx)
	if err != nil {
		return nil, nil, err
	}
	_, _ = fmt.Fprintln(d.Out)
	machine, err := d.lab.StartClient(ctx, from, d.State, "cp1", "w1", "w2")
	if err != nil {
		return nil, nil, err
	}
	prober := client.NewProber(machine, "http://"+address+"/", 50*time.Millisecond)
	if err := d.until(ctx, time.Minute, func() error { return prober.Ask(ctx) }); err != nil {
		machine.Stop()
		return nil, nil, fmt.Errorf("reaching the web service: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	go prober.Run(ctx)
	return prober, func() { cancel(); machine.Stop() }, nil
}

// until calls try once a second until it returns no error.
func (d demo) until(ctx context.Context, limit time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scale(limit))
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

// follow waits for the upgrade to begin and shows it until it ends.
func (d demo) follow(ctx context.Context) error {
	err := d.until(ctx, time.Minute, func() error {
		quiet := d.lab
		quiet.Out = nil
		_, err := quiet.Kube(ctx, "get", "clusterupgrade", to)
		return err
	})
	if err != nil {
		return fmt.Errorf("waiting for the coordinator to notice %s: %w", to, err)
	}
	_, err = d.lab.Upgrade(ctx, "status", "--watch", "--timeout", timelimit.Scale(20*time.Minute).String())
	return err
}

// conclude prints a summary, and commands to try next.
func (d demo) conclude(ctx context.Context, prober *client.Prober) error {
	d.say("What runs now.")
	if _, err := d.lab.Kube(ctx, "get", "nodes"); err != nil {
		return err
	}
	nodes, err := d.lab.Record(ctx, to)
	if err != nil {
		return err
	}
	d.say("Where the time went.")
	scenario.Timeline(d.Out, nodes)
	report := prober.Report()
	d.say("The web service answered %d of %d requests, the slowest in %s.", report.Answered, report.Sent, report.Slowest.Round(time.Millisecond))
	bin := filepath.Dir(d.Program)
	_, _ = fmt.Fprintf(d.Out, "\nThe cluster stays up. Look around:\n%s\n", strings.Join([]string{
		"  export KUBECONFIG=" + d.lab.Kubeconfig + " PATH=" + filepath.Dir(d.lab.Kubectl) + ":" + bin + ":$PATH",
		"  kubectl get nodeupgrades",
		"  kubectl upgrade status",
		"  lab exec w1 -- journalctl -u 'kubectl-upgrade-*'",
		"and take it down:",
		"  lab down",
	}, "\n"))
	if len(report.Failures) > 0 {
		return fmt.Errorf("%d requests were not answered, the first at %s: %w", len(report.Failures), report.Failures[0].At.Format(time.TimeOnly), report.Failures[0].Err)
	}
	return nil
}
