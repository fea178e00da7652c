package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// Kubectl runs kubectl against the lab, and returns what it printed.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) ([]byte, error) {
	return c.kubectl(ctx, "", args...)
}

// Apply applies a manifest.
func (c *Cluster) Apply(ctx context.Context, manifest string) error {
	_, err := c.kubectl(ctx, manifest, "apply", "-f", "-")
	return err
}

func (c *Cluster) kubectl(ctx context.Context, in string, args ...string) ([]byte, error) {
	return c.kubectlFor(ctx, c.Kubeconfig(), in, args...)
}

func (c *Cluster) kubectlFor(ctx context.Context, kubeconfig, in string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.KubectlPath(), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	var complaint bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(in), &complaint
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("running kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return out, nil
}

// Member is a node as the cluster sees it.
type Member struct {
	Ready         bool
	Unschedulable bool
	// Kubelet is its version, "v1.34.3".
	Kubelet string
	// Containerd is its version, "2.2.9".
	Containerd string
	// BootID is that of the boot in which the kubelet last reported.
	BootID string
}

// Members returns all Nodes of the cluster, by name.
func (c *Cluster) Members(ctx context.Context) (map[string]Member, error) {
	out, err := c.Kubectl(ctx, "get", "nodes", "-o", "json", "--request-timeout="+timelimit.Scale(5*time.Second).String())
	if err != nil {
		return nil, err
	}
	return parseMembers(out)
}

func parseMembers(list []byte) (map[string]Member, error) {
	var nodes struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ Unschedulable bool }
			Status   struct {
				Conditions []struct{ Type, Status string }
				NodeInfo   struct{ KubeletVersion, BootID, ContainerRuntimeVersion string }
			}
		}
	}
	if err := json.Unmarshal(list, &nodes); err != nil {
		return nil, fmt.Errorf("reading the list of nodes: %w", err)
	}
	members := map[string]Member{}
	for _, item := range nodes.Items {
		member := Member{
			Unschedulable: item.Spec.Unschedulable,
			Kubelet:       item.Status.NodeInfo.KubeletVersion,
			BootID:        item.Status.NodeInfo.BootID,
			Containerd:    strings.TrimPrefix(item.Status.NodeInfo.ContainerRuntimeVersion, "containerd://"),
		}
		for _, condition := range item.Status.Conditions {
			if condition.Type == "Ready" {
				member.Ready = condition.Status == "True"
			}
		}
		members[item.Metadata.Name] = member
	}
	return members, nil
}

// WaitReady returns when the nodes are Ready, all of them if none is named. A node
// that has rebooted counts as Ready when its kubelet has reported since.
func (c *Cluster) WaitReady(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		names = c.Nodes()
	}
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scale(3*time.Minute))
	defer cancel()
	for {
		waiting, err := c.notReady(ctx, names)
		if err == nil && len(waiting) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to be Ready: %w", strings.Join(waiting, ", "), errors.Join(ctx.Err(), err))
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (c *Cluster) notReady(ctx context.Context, names []string) ([]string, error) {
	members, err := c.Members(ctx)
	if err != nil {
		return names, err
	}
	var waiting []string
	for _, name := range names {
		machine, err := c.Node(name)
		if err != nil {
			return nil, err
		}
		boot, err := machine.BootID()
		if err != nil || !members[name].Ready || members[name].BootID != boot {
			waiting = append(waiting, name)
		}
	}
	return waiting, nil
}

// settle waits for all nodes, and for what kubeadm runs on them. CoreDNS was
// scheduled when there was only one node; after a restart it spreads over all. That
// comes after kube-proxy, because a pod whose first request to a Service is lost
// waits for half a minute.
func (c *Cluster) settle(ctx context.Context) error {
	if err := c.WaitReady(ctx); err != nil {
		return err
	}
	limit := "--timeout=" + timelimit.Scale(2*time.Minute).String()
	steps := [][]string{{"rollout", "status", "daemonset/kube-proxy", limit}}
	if len(c.Nodes()) > 1 && !c.state.Complete {
		steps = append(steps, []string{"delete", "pods", "--selector=k8s-app=kube-dns", "--grace-period=1"})
	}
	steps = append(steps, []string{"rollout", "status", "deployment/coredns", limit})
	for _, step := range steps {
		if _, err := c.Kubectl(ctx, append([]string{"--namespace=kube-system"}, step...)...); err != nil {
			return err
		}
	}
	return nil
}
