package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
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
