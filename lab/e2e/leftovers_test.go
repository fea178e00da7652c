//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// leftOnHost prints the units, mounts, half images and files of the guard that an upgrade may
// leave on a node.
const leftOnHost = `
systemctl list-units --all --plain --no-legend 'kubectl-upgrade*'
find /etc/systemd/system /run/systemd/system /run/systemd/transient -name 'kubectl-upgrade*'
find /opt/kubectl-upgrade/state /var/lib/kubelet /etc/kubernetes -maxdepth 2 '(' -name guard-armed -o -name .kubectl-upgrade-reserve ')'
find /opt/extensions -name '.#*' -o -name '.sysupdate.*' -o -name staging
findmnt -rno TARGET | grep kubectl-upgrade || true`

// nothingLeft returns an error unless all nodes are in service and idle, with nothing of an
// upgrade left over. The cordons of nodes in foreign are a person's.
func (c *testCluster) nothingLeft(foreign ...string) error {
	return errors.Join(c.nodesInService(foreign), c.slotsFree(), c.nodesIdle(), c.hostsClean())
}

func (c *testCluster) nodesInService(foreign []string) error {
	nodes, err := c.kube.CoreV1().Nodes().List(c.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(nodes.Items) != len(c.nodes) {
		return fmt.Errorf("%d Nodes, want %d", len(nodes.Items), len(c.nodes))
	}
	for _, node := range nodes.Items {
		for mark := range node.Annotations {
			if strings.HasPrefix(mark, v1alpha1.Group+"/") {
				return fmt.Errorf("%s has the annotation %s", node.Name, mark)
			}
		}
		if cordoned := slices.Contains(foreign, node.Name); node.Spec.Unschedulable != cordoned {
			return fmt.Errorf("%s: unschedulable %t, want %t", node.Name, node.Spec.Unschedulable, cordoned)
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
				return fmt.Errorf("%s: Ready is %s", node.Name, condition.Status)
			}
		}
	}
	return nil
}

func (c *testCluster) slotsFree() error {
	leases, err := c.kube.CoordinationV1().Leases(v1alpha1.Namespace).List(c.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	slots := 0
	for _, lease := range leases.Items {
		if _, is := clusterstate.SlotIndex(lease.Name); !is {
			continue
		}
		slots++
		if holder, reserved := lease.Spec.HolderIdentity, lease.Annotations[v1alpha1.ReservedForAnnotation]; holder != nil || reserved != "" {
			return fmt.Errorf("%s is not free: holder %v, reserved for %q", lease.Name, holder, reserved)
		}
		if lease.Labels[v1alpha1.SlotLabel] != "true" {
			return fmt.Errorf("%s has no label", lease.Name)
		}
	}
	if slots != 1 {
		return fmt.Errorf("%d slots, want 1", slots)
	}
	return nil
}

func (c *testCluster) nodesIdle() error {
	upgrades, err := c.nodeUpgrades()
	if err != nil {
		return err
	}
	for _, u := range upgrades {
		if u.Status.Step != v1alpha1.StepIdle || u.Status.Slot != "" || u.Spec.Slot != "" || u.Spec.Upgrade != nil {
			return fmt.Errorf("spec.slot %q, status.slot %q, upgrade %v, %s", u.Spec.Slot, u.Status.Slot, u.Spec.Upgrade, describe(u))
		}
	}
	return nil
}

func (c *testCluster) hostsClean() error {
	for _, node := range c.nodes {
		left, err := c.Exec(c.ctx, node, "sh", "-c", leftOnHost)
		if err != nil {
			return err
		}
		if left = strings.TrimSpace(left); left != "" {
			return fmt.Errorf("left on %s:\n%s", node, left)
		}
	}
	return nil
}

// unmounted removes the file systems that cases mount on nodes.
const unmounted = `[ ! -e ` + diskImage + ` ] || { ` + largeDisk + `; }
umount /opt/extensions/kubernetes /mnt /etc/kubernetes/tmp`

// reset returns when the next case may begin. After a case that failed it ends every fault
// first.
func (c *testCluster) reset(failed bool) error {
	if !failed {
		_, err := c.Kube(c.ctx, "delete", "clusterupgrades", "--all")
		_, uncordonErr := c.Kube(c.ctx, "uncordon", "w1", "w2", "w3")
		return errors.Join(err, uncordonErr, waitUntil(2*time.Minute, func() error { return c.nothingLeft() }))
	}
	for _, node := range c.nodes {
		_, err := c.Lab.Lab(c.ctx, "heal", node)
		_, startErr := c.Lab.Lab(c.ctx, "start", node)
		if err := errors.Join(err, startErr); err != nil {
			return err
		}
	}
	_, _ = c.Exec(c.ctx, "cp1", "sh", "-c", apiBack)
	for _, node := range c.nodes {
		_, _ = c.Exec(c.ctx, node, "sh", "-c", unmounted)
	}
	if _, err := c.Lab.Lab(c.ctx, "fault", "none"); err != nil {
		return err
	}
	_, _ = c.Lab.Lab(c.ctx, "withdraw", to)
	ready := func() error { _, err := c.Kube(c.ctx, "get", "--raw", "/readyz"); return err }
	if err := waitUntil(2*time.Minute, ready); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"delete", "validatingwebhookconfiguration", "fault", "--ignore-not-found"},
		{"apply", "--server-side", "--force-conflicts", "-k", c.root + "/manifests"},
		{"apply", "--server-side", "--force-conflicts", "--field-manager", "lab", "-f", c.root + "/lab/manifests/policy.yaml"},
		{"patch", "upgradepolicy", v1alpha1.PolicyName, "--type", "merge", "-p", `{"spec":{"source":{"keyring":null}}}`},
		{"-n", "default", "delete", "poddisruptionbudget", "stuck", "--ignore-not-found"},
		{"delete", "clusterupgrades", "--all"},
		{"delete", "maintenanceschedule", "freeze", "--ignore-not-found"},
		{"uncordon", "-l", "kubernetes.io/os=linux"},
		{"-n", v1alpha1.Namespace, "rollout", "status", "daemonset/node-agent", "--timeout", "2m"},
		{"-n", v1alpha1.Namespace, "rollout", "status", "deployment/coordinator", "--timeout", "2m"},
	} {
		if err := waitUntil(2*time.Minute, func() error { _, err := c.Kube(c.ctx, args...); return err }); err != nil {
			return err
		}
	}
	if err := c.KubeApply(c.ctx, scenario.OpenSchedule); err != nil {
		return err
	}
	return waitUntil(5*time.Minute, func() error { return c.nothingLeft() })
}

// waitUntil checks each second until there is no error.
func waitUntil(limit time.Duration, check func() error) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(time.Second) {
		err := check()
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
