package scenario

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// restoredFrom is the path of the snapshot's copy on every control plane.
const restoredFrom = "/root/restore.db"

// RestoreEtcd takes the cluster back to a snapshot of etcd, with the commands
// of docs/rollback.md in the checkout at source. controlPlanes are all of them. It
// returns when the API answers again.
func (l Lab) RestoreEtcd(ctx context.Context, source string, snapshot v1alpha1.EtcdSnapshot, controlPlanes ...string) error {
	page, err := os.ReadFile(filepath.Join(source, "docs", "rollback.md"))
	if err != nil {
		return err
	}
	variables, err := l.restoreVariables(ctx, controlPlanes)
	if err != nil {
		return err
	}
	if err := l.copySnapshot(ctx, snapshot, controlPlanes); err != nil {
		return err
	}
	for _, step := range []string{"# 1 stop", "# 2 restore", "# 3 start"} {
		text, err := shellBlock(string(page), step)
		if err != nil {
			return err
		}
		for _, node := range controlPlanes {
			script, err := restoreScript(string(page), variables[node], text)
			if err != nil {
				return err
			}
			if _, err := l.Exec(ctx, node, "bash", "-euo", "pipefail", "-c", script); err != nil {
				return fmt.Errorf("restoring etcd, step %q on %s: %w", step, node, err)
			}
		}
	}
	if _, err := l.Exec(ctx, controlPlanes[0], "bash", "-c",
		"for i in $(seq 180); do kubectl --kubeconfig /etc/kubernetes/admin.conf get --raw /readyz && exit; sleep 1; done; exit 1"); err != nil {
		return fmt.Errorf("waiting for the API after the restore: %w", err)
	}
	return nil
}

// restoreVariables returns each node's values for the page's variables.
func (l Lab) restoreVariables(ctx context.Context, controlPlanes []string) (map[string]map[string]string, error) {
	image, err := l.Exec(ctx, controlPlanes[0], "sed", "-n", "s/^ *image: //p", "/etc/kubernetes/manifests/etcd.yaml")
	if err != nil {
		return nil, err
	}
	peers := map[string]string{}
	var cluster []string
	for _, name := range controlPlanes {
		endpoint, err := network.Lookup(name)
		if err != nil {
			return nil, err
		}
		peers[name] = "https://" + endpoint.Address.String() + ":2380"
		cluster = append(cluster, name+"="+peers[name])
	}
	variables := map[string]map[string]string{}
	for _, name := range controlPlanes {
		variables[name] = map[string]string{
			"SNAPSHOT": restoredFrom, "NAME": name, "PEER": peers[name],
			"CLUSTER": strings.Join(cluster, ","), "IMAGE": strings.TrimSpace(image),
		}
	}
	return variables, nil
}

// copySnapshot puts the same file on every control plane, and compares its hash
// with the one that the upgrade recorded.
func (l Lab) copySnapshot(ctx context.Context, snapshot v1alpha1.EtcdSnapshot, controlPlanes []string) error {
	quiet := l
	quiet.Out = nil
	text, err := quiet.Exec(ctx, snapshot.Node, "base64", "-w0", snapshot.Path)
	if err != nil {
		return fmt.Errorf("reading the snapshot on %s: %w", snapshot.Node, err)
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return fmt.Errorf("reading the snapshot on %s: %w", snapshot.Node, err)
	}
	for _, node := range controlPlanes {
		script := fmt.Sprintf("umask 077; cat >%[1]s; echo '%[2]s  %[1]s' | sha256sum -c -", restoredFrom, snapshot.Digest.SHA256())
		cmd := exec.CommandContext(ctx, l.Program, "exec", node, "--", "bash", "-euo", "pipefail", "-c", script)
		cmd.Stdin = strings.NewReader(string(data))
		if _, err := quiet.run(cmd); err != nil {
			return fmt.Errorf("copying the snapshot to %s: %w", node, err)
		}
	}
	return nil
}

// restoreScript returns a step of the page, after the page's variables and function,
// with the node's values in place of the example's.
func restoreScript(page string, variables map[string]string, step string) (string, error) {
	text, err := shellBlock(page, "# variables")
	if err != nil {
		return "", err
	}
	var own strings.Builder
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if !strings.Contains(text, "\n"+name+"=") && !strings.HasPrefix(text, name+"=") {
			return "", fmt.Errorf("docs/rollback.md has no variable %s", name)
		}
		fmt.Fprintf(&own, "%s=%q\n", name, variables[name])
	}
	return text + own.String() + step, nil
}

// shellBlock returns the block of commands that begins with that line.
func shellBlock(page, first string) (string, error) {
	_, text, found := strings.Cut(strings.ReplaceAll(page, "```sh example\n", "```sh\n"), "```sh\n"+first+"\n")
	text, _, ended := strings.Cut(text, "```")
	if !found || !ended {
		return "", fmt.Errorf("docs/rollback.md has no block %q", first)
	}
	return text, nil
}
