//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// checkMinorUpgraded checks what checkMinor does, for TestMinor's versions.
func (c *testCluster) checkMinorUpgraded(t *testing.T) { c.checkMinor(t, minorFrom, minorTo) }

// checkMinor checks the cluster and the nodes themselves.
func (c *testCluster) checkMinor(t *testing.T, from, to string) {
	t.Helper()
	c.checkNodes(t, from, to)
	c.checkMinorStaticPods(t, to)
	c.checkSnapshotRecorded(t, to)
}

// checkNodes checks that every node runs to: there is one definition, of its minor, and the
// old image is kept for a rollback.
func (c *testCluster) checkNodes(t *testing.T, from, to string) {
	t.Helper()
	definition := "kubernetes-" + to[:strings.LastIndex(to, ".")] + ".conf"
	for _, name := range c.nodes {
		node, err := c.kube.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := node.Status.NodeInfo.KubeletVersion; got != to || node.Spec.Unschedulable {
			t.Errorf("%s: got kubelet %s and unschedulable %t, want %s and false", name, got, node.Spec.Unschedulable, to)
		}
		link := c.must(t)(c.Exec(c.ctx, name, "readlink", "-f", "/etc/extensions/kubernetes.raw"))
		if want := imageName(to); !strings.HasSuffix(strings.TrimSpace(link), want) {
			t.Errorf("%s: the symlink points to %s", name, link)
		}
		confs := strings.Fields(c.must(t)(c.Exec(c.ctx, name, "ls", "/etc/sysupdate.kubernetes.d")))
		if len(confs) != 1 || confs[0] != definition {
			t.Errorf("%s: got definitions %v, want %s only", name, confs, definition)
		}
		images := c.must(t)(c.Exec(c.ctx, name, "ls", kept))
		if !strings.Contains(images, imageName(from)) {
			t.Errorf("%s: the image of %s is gone: %s", name, from, images)
		}
	}
}

func (c *testCluster) checkMinorStaticPods(t *testing.T, to string) {
	pods, err := c.kube.CoreV1().Pods("kube-system").List(c.ctx, metav1.ListOptions{LabelSelector: "tier=control-plane"})
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for _, pod := range pods.Items {
		image := pod.Spec.Containers[0].Image
		at[pod.Labels["component"]+image[strings.LastIndex(image, ":"):]]++
	}
	for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		if at[component+":"+to] != len(c.controlPlanes()) {
			t.Errorf("%s: %v", component, at)
		}
	}
}

// checkSnapshotRecorded checks that etcd's snapshot is where the ClusterUpgrade of that name
// records it, with the recorded digest.
func (c *testCluster) checkSnapshotRecorded(t *testing.T, name string) {
	upgrade, err := c.ours.ClusterUpgrades.Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	snapshot := upgrade.Status.EtcdSnapshot
	if snapshot == nil {
		t.Fatal("the upgrade records no etcd snapshot")
	}
	sum := c.must(t)(c.Exec(c.ctx, snapshot.Node, "sha256sum", snapshot.Path))
	hash, _, _ := strings.Cut(sum, " ")
	if v1alpha1.DigestOf(hash) != snapshot.Digest {
		t.Errorf("%s on %s has the hash %s, want %s", snapshot.Path, snapshot.Node, hash, snapshot.Digest)
	}
	t.Logf("etcd snapshot: %s on %s", snapshot.Path, snapshot.Node)
}

// checkMinorHistory checks the output of `kubectl upgrade history`.
func (c *testCluster) checkMinorHistory(t *testing.T) {
	all := c.must(t)(c.Upgrade(c.ctx, "history"))
	one := c.must(t)(c.Upgrade(c.ctx, "history", minorTo))
	t.Logf("\n%s\n%s", all, one)
	for _, word := range []string{minorFrom, minorTo, "Succeeded"} {
		if !strings.Contains(all, word) {
			t.Errorf("the history has no %q", word)
		}
	}
	for _, name := range c.nodes {
		if !strings.Contains(one, name) {
			t.Errorf("the history of %s has no node %s", minorTo, name)
		}
	}
}

// nodeAt returns a node at that step, except those in but.
func (c *testCluster) nodeAt(t *testing.T, step v1alpha1.Step, but ...string) string {
	t.Helper()
	nodes, err := c.nodeUpgrades()
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		if node.Status.Step == step && !slices.Contains(but, node.Name) {
			return node.Name
		}
	}
	t.Fatalf("no node is at %s", step)
	return ""
}

func (c *testCluster) anyNodeAt(step v1alpha1.Step, but ...string) error {
	nodes, err := c.nodeUpgrades()
	if err != nil {
		return err
	}
	var steps []string
	for _, node := range nodes {
		if node.Status.Step == step && !slices.Contains(but, node.Name) {
			return nil
		}
		steps = append(steps, describe(node))
	}
	return fmt.Errorf("no node is at %s: %s", step, strings.Join(steps, ", "))
}

// manifestsMoved returns an error until kubeadm has replaced a manifest without having ended:
// a power cut then leaves a control plane of two versions.
func (c *testCluster) manifestsMoved(node string) error {
	_, err := c.Exec(c.ctx, node, "sh", "-c", "ls /etc/kubernetes/tmp/kubeadm-backup-manifests-*/kube-apiserver.yaml")
	return err
}
