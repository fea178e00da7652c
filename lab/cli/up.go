package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cluster"
)

// DefaultVersion can be upgraded: a newer patch and a newer minor can be built.
const DefaultVersion = "v1.34.3"

func upCommand(where *folders) *cobra.Command {
	spec, kubeadm := cluster.Spec{}, ""
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Make a cluster, or continue to make one",
		Long: `Make a cluster. The first one of a version takes some ten minutes, because
Kubernetes is built from its sources; a later one takes about a minute. If it is
interrupted, run it again. On a lab that is there, only nodes that are off are
powered on, and flags that are not given are as they were.

With --from, Kubernetes is downloaded as it is published, instead of built: its
programs from dl.k8s.io, its images from registry.k8s.io, and the sysext image
from extensions.flatcar.org. A mirror has these hosts as folders. Everything is
checked against the published hashes, and nothing of it needs Go. What is
published to the lab later comes from there too.`,
		Example: `  lab up
  lab up --control-planes 3 --workers 1
  lab up --version v1.34.3 --raw-flatcar   # nodes fetch new versions by themselves
  lab up --from upstream                   # download Kubernetes, compile nothing
  lab up --from https://mirror.example     # has dl.k8s.io/release/…, registry.k8s.io/…
  lab up --base bookworm-backports --containerd 2
  lab up --cluster-api --control-planes 3  # and then: lab kubeconfig --management
  lab up --kubeadm changes.yaml            # kind: ClusterConfiguration, and what is to differ
  lab up --update-engine                   # and then: lab update-engine w1 need-reboot`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			began := time.Now()
			if kubeadm != "" {
				text, err := os.ReadFile(kubeadm)
				if err != nil {
					return err
				}
				spec.Kubeadm = string(text)
			}
			if there, err := cluster.Open(where.state); err == nil {
				spec = unlessGiven(cmd.Flags(), spec, there.Spec())
			}
			c, already, err := cluster.Up(cmd.Context(), cluster.Options{
				Dir: where.state, CacheDir: where.cache, Spec: spec, Report: progress(cmd.ErrOrStderr())})
			if cmd.Context().Err() != nil {
				return errors.New("interrupted: `lab up` continues, `lab down` removes what was made")
			}
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if already {
				fmt.Fprintf(out, "The lab is up already: %s.\n", c.Spec())
			} else {
				fmt.Fprintf(out, "The lab is up after %s: %s.\n", time.Since(began).Round(time.Second), c.Spec())
			}
			fmt.Fprintf(out, "\n  export KUBECONFIG=%s PATH=%s:$PATH\n  kubectl get nodes\n", c.Kubeconfig(), c.BinDir())
			return nil
		},
	}
	cmd.Flags().IntVar(&spec.ControlPlanes, "control-planes", 1, "how many control planes: 1 or 3")
	cmd.Flags().IntVar(&spec.Workers, "workers", 2, "how many workers")
	cmd.Flags().StringVar(&spec.Version, "version", DefaultVersion, "of Kubernetes")
	cmd.Flags().BoolVar(&spec.RawFlatcar, "raw-flatcar", false, "have the timer on that fetches and activates new versions, as on plain Flatcar")
	cmd.Flags().StringVar((*string)(&spec.Base), "base", string(artifacts.DefaultBase), artifacts.BaseHelp())
	cmd.Flags().IntVar(&spec.Containerd, "containerd", 0, "the major version of containerd, 1 or 2 (default: that of the base)")
	cmd.Flags().BoolVar(&spec.UpdateEngine, "update-engine", false, "have nodes run a service that plays Flatcar's update_engine")
	cmd.Flags().StringVar(&spec.Ignition, "ignition", "", "the path of an Ignition configuration with which nodes boot first, and which brings Kubernetes (needs Debian's package ignition)")
	cmd.Flags().StringVar(&kubeadm, "kubeadm", "", "the path of documents that change the lab's configuration of kubeadm, such as a ClusterConfiguration with a few fields")
	cmd.Flags().BoolVar(&spec.ClusterAPI, "cluster-api", false, "have Cluster API make the cluster, from a management cluster on this machine (needs Debian's package ignition)")
	cmd.Flags().BoolVar(&spec.ClusterClass, "cluster-class", false, "with --cluster-api: have a ClusterClass make the cluster")
	fromFlag(cmd, &spec.From)
	return cmd
}

func fromFlag(cmd *cobra.Command, from *string) {
	cmd.Flags().StringVar(from, "from", env("LAB_FROM", ""), "where to download Kubernetes from: upstream, or a mirror's address; empty: compile it (LAB_FROM)")
}

// unlessGiven takes the flags that were not given from the existing lab.
func unlessGiven(flags *pflag.FlagSet, asked, there cluster.Spec) cluster.Spec {
	if !flags.Changed("control-planes") {
		asked.ControlPlanes = there.ControlPlanes
	}
	if !flags.Changed("workers") {
		asked.Workers = there.Workers
	}
	if !flags.Changed("version") {
		asked.Version = there.Version
	}
	if !flags.Changed("raw-flatcar") {
		asked.RawFlatcar = there.RawFlatcar
	}
	if !flags.Changed("base") {
		asked.Base = there.Base
	}
	if !flags.Changed("containerd") {
		asked.Containerd = there.Containerd
	}
	if !flags.Changed("update-engine") {
		asked.UpdateEngine = there.UpdateEngine
	}
	if !flags.Changed("ignition") {
		asked.Ignition = there.Ignition
	}
	if !flags.Changed("kubeadm") {
		asked.Kubeadm = there.Kubeadm
	}
	if !flags.Changed("cluster-api") {
		asked.ClusterAPI = there.ClusterAPI
	}
	if !flags.Changed("cluster-class") {
		asked.ClusterClass = there.ClusterClass
	}
	if !flags.Changed("from") {
		asked.From = there.From
	}
	return asked
}
