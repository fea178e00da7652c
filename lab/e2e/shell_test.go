//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// shell runs a command of a page as a person would in that folder: kubectl and its plugin are in
// PATH, and the cluster is the lab. A folder usr-local-bin there stands for /usr/local/bin.
func (c *testCluster) shell(dir, line string) (string, error) {
	cmd := exec.CommandContext(c.ctx, "sh", "-c", line)
	cmd.Dir = dir
	path := strings.Join([]string{filepath.Join(dir, "usr-local-bin"), filepath.Join(filepath.Dir(c.Kubeconfig), "bin"), filepath.Join(c.root, "bin"), os.Getenv("PATH")}, ":")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "PATH="+path)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
