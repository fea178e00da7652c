//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// nodeFiles lists what kubectl-upgrade could leave on a node: mode, owner, target and name of
// each file and folder, and the digests of definitions and units. It leaves out what the
// kubelet, kubeadm and the container runtime write.
const nodeFiles = `cd /
find etc/extensions etc/sysupdate* etc/systemd opt run/kubectl-upgrade var/lib/kubectl-upgrade \
  -path opt/cni -prune -o -printf '%M %u %g %p %l\n' 2>/dev/null | sort -k 4
find var/lib/kubelet etc/kubernetes -maxdepth 2 -name '.kubectl-upgrade*' 2>/dev/null
sha256sum etc/sysupdate*/* 2>/dev/null
systemctl list-units --all --plain --no-legend 'kubectl-upgrade-*'
systemctl list-timers --all --no-legend systemd-sysupdate.timer | wc -l`

func (c *testCluster) filesOf(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range c.nodes {
		files[name] = c.must(t)(c.Exec(c.ctx, name, "sh", "-c", nodeFiles))
	}
	return files
}

// managed returns an error unless the condition Managed of the node has this status.
func (c *testCluster) managed(name string, status metav1.ConditionStatus) error {
	node, err := c.ours.NodeUpgrades.Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if got := meta.FindStatusCondition(node.Status.Conditions, v1alpha1.ConditionManaged); got == nil || got.Status != status {
		return fmt.Errorf("condition Managed of %s is %v, want %s", name, got, status)
	}
	return nil
}

func (c *testCluster) patchPolicy(t *testing.T, spec string) {
	t.Helper()
	c.must(t)(c.Kube(c.ctx, "patch", "upgradepolicy", v1alpha1.PolicyName, "--type", "merge", "-p", `{"spec":`+spec+`}`))
}

// withoutKubernetesImage returns the list without the lines about images of Kubernetes and
// the symlink.
func withoutKubernetesImage(files string) string {
	var kept []string
	for _, line := range strings.Split(files, "\n") {
		if !strings.Contains(line, "kubernetes/kubernetes-v1.") && !strings.Contains(line, "etc/extensions/kubernetes.raw") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// TestPilot installs kubectl-upgrade, which changes no node, manages one node, then all, and
// gives every node back, file by file.
func TestPilot(t *testing.T) {
	c := newLab(t, 1, 2)
	before := c.filesOf(t)
	if err := c.InstallObserved(c.ctx, c.root, filepath.Join(c.root, "bin", "node-agent.tar")); err != nil {
		t.Fatal(err)
	}
	c.connect(t)
	for _, name := range c.nodes {
		c.eventually(t, 2*time.Minute, name+" is observed", func() error { return c.managed(name, metav1.ConditionFalse) })
	}
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to))
	c.apply(t, scenario.OpenSchedule)
	c.apply(t, scenario.Automatic(v1alpha1.TypePatch))
	if diff := cmp.Diff(before, c.filesOf(t)); diff != "" {
		t.Errorf("the installation changed nodes (-before +after):\n%s", diff)
	}
	c.Out = nil
	planned, err := c.Upgrade(c.ctx, "plan", to)
	if err != nil {
		t.Error(err)
	}
	status := c.must(t)(c.Upgrade(c.ctx, "status"))
	for _, want := range []string{"the cluster is only observed", "kubectl patch upgradepolicy cluster"} {
		if !strings.Contains(strings.Join(strings.Fields(status), " "), want) {
			t.Errorf("kubectl upgrade status does not say %q:\n%s", want, status)
		}
	}
	if !strings.Contains(planned, "w1") {
		t.Errorf("kubectl upgrade plan does not show what would happen:\n%s", planned)
	}

	// A pilot of one node.
	c.patchPolicy(t, `{"mode":"Manage","nodeSelector":{"matchLabels":{"kubernetes.io/hostname":"w1"}}}`)
	c.eventually(t, 15*time.Minute, "the patch has reached w1", func() error { return c.succeededOn(to, 1) })
	after := c.filesOf(t)
	for _, name := range []string{"cp1", "w2"} {
		if diff := cmp.Diff(before[name], after[name]); diff != "" {
			t.Errorf("%s is not managed, and was changed (-before +after):\n%s", name, diff)
		}
		if node := c.must(t)(c.Kube(c.ctx, "get", "nodeupgrade", name)); !strings.Contains(node, "Unmanaged") {
			t.Errorf("kubectl get nodeupgrade %s:\n%s", name, node)
		}
	}

	// The whole cluster.
	c.patchPolicy(t, `{"nodeSelector":null}`)
	for _, name := range c.nodes {
		c.eventually(t, 15*time.Minute, name+" runs "+to, func() error {
			node, err := c.ours.NodeUpgrades.Get(c.ctx, name, metav1.GetOptions{})
			if err != nil || node.Status.Versions.Kubelet != to || node.Status.Step != v1alpha1.StepIdle {
				return fmt.Errorf("%w: %s", err, describe(*node))
			}
			return nil
		})
	}

	// Uninstalled.
	c.patchPolicy(t, `{"mode":"Observe"}`)
	c.must(t)(c.Kube(c.ctx, "wait", "--for=condition=Managed=false", "nodeupgrades", "--all", "--timeout", "5m"))
	c.must(t)(c.Exec(c.ctx, "cp1", "rm", "-r", "/var/lib/kubectl-upgrade")) // the snapshots of etcd are kept
	c.stopRecording()
	c.must(t)(c.Kube(c.ctx, "delete", "-k", filepath.Join(c.root, "manifests"), "--timeout", "3m"))
	after = c.filesOf(t)
	for _, name := range c.nodes {
		if diff := cmp.Diff(withoutKubernetesImage(before[name]), withoutKubernetesImage(after[name])); diff != "" {
			t.Errorf("%s is not as it was (-before +after):\n%s", name, diff)
		}
	}
	if left, err := c.Kube(c.ctx, "get", "namespace", v1alpha1.Namespace); err == nil {
		t.Errorf("left: %s", left)
	}
}
