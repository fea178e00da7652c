package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
)

func (c *Cluster) init(ctx context.Context, name string) error {
	endpoint, err := network.Lookup(name)
	if err != nil {
		return err
	}
	config, err := c.config(endpoint, true, "").render("init.yaml")
	if err != nil {
		return err
	}
	return c.kubeadm(ctx, name, config, "init", "--upload-certs")
}

func (c *Cluster) readCAHash(ctx context.Context) (string, error) {
	ca, err := c.Exec(ctx, c.Nodes()[0], "cat", "/etc/kubernetes/pki/ca.crt")
	if err != nil {
		return "", err
	}
	return caHash(ca)
}

func (c *Cluster) join(ctx context.Context, name, caHash string) error {
	endpoint, err := network.Lookup(name)
	if err != nil {
		return err
	}
	config, err := c.config(endpoint, isControlPlane(name), caHash).render("join.yaml")
	if err != nil {
		return err
	}
	// A Node object from an interrupted join would prevent this join. Control planes
	// always start again together, so they have none.
	if !isControlPlane(name) {
		if _, err := c.Kubectl(ctx, "delete", "node", name, "--ignore-not-found"); err != nil {
			return err
		}
	}
	return c.kubeadm(ctx, name, config, "join")
}

// kubeadm runs init or join on a node, and records that it has joined.
func (c *Cluster) kubeadm(ctx context.Context, name, config, verb string, flags ...string) error {
	machine, err := c.Node(name)
	if err != nil {
		return err
	}
	file := "/etc/kubernetes/kubeadm-" + verb + ".yaml"
	if err := machine.WriteFile(ctx, file, config); err != nil {
		return err
	}
	if err := os.MkdirAll(c.LogDir(), 0o755); err != nil {
		return err
	}
	log := filepath.Join(c.LogDir(), "kubeadm-"+verb+"-"+name)
	said, failed := machine.Exec(ctx, append([]string{"kubeadm", verb, "--config", file, "--v=1"}, flags...)...)
	if failed != nil {
		said = append(said, failed.Error()...)
	}
	if err := os.WriteFile(log, said, 0o600); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("kubeadm %s on %s failed: %w (log: %s)", verb, name, lastLines(failed), log)
	}
	return renameio.WriteFile(c.joinedMark(name), nil, 0o644)
}

// lastLines shortens an error that contains a program's whole output.
func lastLines(err error) error {
	const many = 12
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	if len(lines) <= many {
		return err
	}
	return errors.New(strings.Join(lines[len(lines)-many:], "\n"))
}

// writeKubeconfig writes a kubeconfig of its own with the rights of admin.conf: a cluster may be made with certificates that
// live for a few minutes.
func (c *Cluster) writeKubeconfig(ctx context.Context, first string) error {
	config, err := c.Exec(ctx, first, "kubeadm", "kubeconfig", "user", "--client-name", "kubernetes-admin", "--org", "kubeadm:cluster-admins",
		"--validity-period", "8760h", "--config", "/etc/kubernetes/kubeadm-init.yaml")
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(c.Kubeconfig(), config, 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}
