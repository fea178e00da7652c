package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cluster"
)

func assetsCommand(where *folders) *cobra.Command {
	var version, out string
	cmd := &cobra.Command{
		Use:   "assets",
		Short: "Build what tests need: an API server, etcd, and the root of a node",
		Long: `Build what tests need: an API server, etcd with etcdutl, kubectl, and the root
file system of a node; and link them in a folder. Needs no lab.`,
		Example: "  lab assets --version v1.34.3 --out /tmp/assets",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cache, err := artifacts.Open(where.cache, progress(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			kubernetes, err := cache.Kubernetes(cmd.Context(), strings.TrimPrefix(version, "v"))
			if err != nil {
				return err
			}
			rootfs, err := cache.Rootfs(cmd.Context(), artifacts.DefaultBase)
			if err != nil {
				return err
			}
			return linkAll(out, rootfs, filepath.Join(kubernetes.BinDir, "kube-apiserver"),
				filepath.Join(kubernetes.BinDir, "kubectl"), filepath.Join(kubernetes.EtcdBinDir, "etcd"),
				filepath.Join(kubernetes.EtcdBinDir, "etcdutl"))
		},
	}
	cmd.Flags().StringVar(&version, "version", DefaultVersion, "of Kubernetes")
	cmd.Flags().StringVar(&out, "out", "", "the folder")
	if err := cmd.MarkFlagRequired("out"); err != nil {
		panic(err) // the flag is one line further up
	}
	return cmd
}

func rootfsCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:       "rootfs BASE",
		Short:     "Build the root file system of a node, and print its folder",
		Long:      "Build the root file system of a node, and print its folder. BASE is " + artifacts.BaseHelp() + ".\nNothing may write to it. Needs no lab.",
		Example:   "  lab rootfs sid",
		Args:      cobra.ExactArgs(1),
		ValidArgs: artifacts.Bases(),
		RunE: func(cmd *cobra.Command, args []string) error {
			base := artifacts.Base(args[0])
			if err := base.Validate(); err != nil {
				return err
			}
			cache, err := artifacts.Open(where.cache, progress(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			rootfs, err := cache.Rootfs(cmd.Context(), base)
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), rootfs)
			}
			return err
		},
	}
}

func packagesCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:     "packages PACKAGE...",
		Short:   "Unpack Debian packages for nodes, and print their folder",
		Long:    "Unpack packages of the nodes' Debian with all that they need, and print their folder. Needs no lab.",
		Example: "  lab packages haproxy keepalived",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cache, err := artifacts.Open(where.cache, progress(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			folder, err := cache.Packages(cmd.Context(), artifacts.DefaultBase, args...)
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), folder)
			}
			return err
		},
	}
}

func etcdCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:     "etcd VERSION",
		Short:   "Build etcd, and print the folder of its programs",
		Long:    "Build etcd with etcdctl and etcdutl, and print their folder. Needs no lab.",
		Example: "  lab etcd 3.6.8",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cluster.CheckEtcdVersion(args[0]); err != nil {
				return err
			}
			cache, err := artifacts.Open(where.cache, progress(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			folder, err := cache.Etcd(cmd.Context(), args[0])
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), folder)
			}
			return err
		},
	}
}

func linkAll(dir string, programs ...string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder for the programs: %w", err)
	}
	for _, program := range programs {
		link := filepath.Join(dir, filepath.Base(program))
		if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("replacing %s: %w", link, err)
		}
		if err := os.Symlink(program, link); err != nil {
			return fmt.Errorf("linking %s: %w", program, err)
		}
	}
	return nil
}
