//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/serve"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
)

func (c *testCluster) apply(t *testing.T, manifest string) {
	t.Helper()
	if err := c.KubeApply(c.ctx, manifest); err != nil {
		t.Fatal(err)
	}
}

// awaitEveryNodeHeld waits until every node is held for the reason, with a message.
func (c *testCluster) awaitEveryNodeHeld(t *testing.T, reason v1alpha1.Reason) {
	t.Helper()
	c.eventually(t, 3*time.Minute, fmt.Sprintf("every node waits for %s", reason), func() error {
		nodes, err := c.nodeUpgrades()
		if err != nil {
			return err
		}
		for _, node := range nodes {
			if got, message := node.Status.Explain(); got != reason || message == "" {
				return errors.New(describe(node))
			}
		}
		return nil
	})
}

// checkStatus checks that `kubectl upgrade status` prints these words.
func (c *testCluster) checkStatus(t *testing.T, words ...string) {
	t.Helper()
	screen := c.must(t)(c.Upgrade(c.ctx, "status"))
	t.Log("\n" + screen)
	for _, word := range words {
		if !strings.Contains(screen, word) {
			t.Errorf("the output of kubectl upgrade status has no %q", word)
		}
	}
}

// imageName is the name of a version's image on the nodes.
func imageName(version string) string { return image.Name(version, runtime.GOARCH) }

// kept is where agents keep the images that a node needs.
const kept = "/opt/extensions/kubernetes/kubectl-upgrade/"

// checkStaged checks that every node has the new image and the running one.
func (c *testCluster) checkStaged(t *testing.T) {
	t.Helper()
	for _, node := range c.nodes {
		images := c.must(t)(c.Exec(c.ctx, node, "ls", kept))
		for _, version := range []string{from, to} {
			if !strings.Contains(images, imageName(version)) {
				t.Errorf("%s has no image of %s: %s", node, version, images)
			}
		}
	}
}

// checkUnchanged checks on the nodes themselves that the old image is active, kubeadm never
// ran, and the node is schedulable.
func (c *testCluster) checkUnchanged(t *testing.T) {
	t.Helper()
	for _, name := range c.nodes {
		c.checkActive(t, name, from)
		ran := c.must(t)(c.Exec(c.ctx, name, "sh", "-c", "journalctl -q -u kubectl-upgrade-kubeadm.service -o cat; find /opt/kubectl-upgrade -name 'kubeadm*'"))
		if strings.TrimSpace(ran) != "" {
			t.Errorf("%s: kubeadm was run: %s", name, ran)
		}
		node, err := c.kube.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if node.Spec.Unschedulable || node.Status.NodeInfo.KubeletVersion != from {
			t.Errorf("%s: got unschedulable %t and kubelet %s, want false and "+from, name, node.Spec.Unschedulable, node.Status.NodeInfo.KubeletVersion)
		}
	}
}

// checkActive checks the symlink and the conf: there is one conf, of the running minor, and it
// cannot activate an image.
func (c *testCluster) checkActive(t *testing.T, node, version string) {
	t.Helper()
	link := c.must(t)(c.Exec(c.ctx, node, "readlink", "-f", "/etc/extensions/kubernetes.raw"))
	if want := kept + imageName(version); strings.TrimSpace(link) != want {
		t.Errorf("%s: the symlink points to %q, want %q", node, strings.TrimSpace(link), want)
	}
	confs := strings.Fields(c.must(t)(c.Exec(c.ctx, node, "ls", "/etc/sysupdate.kubernetes.d")))
	if len(confs) != 1 || confs[0] != "kubernetes-v1.34.conf" {
		t.Errorf("%s: got confs %v, want kubernetes-v1.34.conf only", node, confs)
		return
	}
	conf := c.must(t)(c.Exec(c.ctx, node, "cat", "/etc/sysupdate.kubernetes.d/"+confs[0]))
	for line := range strings.Lines(conf) {
		if strings.HasPrefix(line, "CurrentSymlink=") {
			t.Errorf("%s: the conf would change the symlink: %s", node, line)
		}
	}
}

// everyNodeDone returns an error unless every node is done.
func (c *testCluster) everyNodeDone() error {
	nodes, err := c.nodeUpgrades()
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if !isDone(node) {
			return fmt.Errorf("kubelet %s, %s", node.Status.Versions.Kubelet, describe(node))
		}
	}
	return nil
}

// describe returns the step and the reason that a node reports.
func describe(node v1alpha1.NodeUpgrade) string {
	reason, message := node.Status.Explain()
	return fmt.Sprintf("%s: step %s, reason %s: %s", node.Name, node.Status.Step, reason, message)
}

// upgradeSucceeded returns an error unless the ClusterUpgrade succeeded on every node.
func (c *testCluster) upgradeSucceeded(name string) error {
	return c.succeededOn(name, len(c.nodes))
}

// succeededOn returns an error unless the upgrade has succeeded, and concerned so many nodes.
func (c *testCluster) succeededOn(name string, nodes int) error {
	upgrade, err := c.ours.ClusterUpgrades.Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if upgrade.Status.Outcome != v1alpha1.OutcomeSucceeded || upgrade.Status.Nodes.Done != int32(nodes) { //nolint:gosec // a few nodes
		return fmt.Errorf("upgrade %s has outcome %q, %s nodes done", name, upgrade.Status.Outcome, upgrade.Status.Progress)
	}
	return nil
}

// checkUpgraded checks the cluster and the nodes themselves after the patch. foreign are the
// nodes that another client cordoned: they stay cordoned.
func (c *testCluster) checkUpgraded(t *testing.T, foreign ...string) {
	for _, name := range c.nodes {
		c.checkActive(t, name, to)
		node, err := c.kube.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := node.Status.NodeInfo.KubeletVersion; got != to {
			t.Errorf("%s: got kubelet %s, want %s", name, got, to)
		}
		if cordoned := slices.Contains(foreign, name); node.Spec.Unschedulable != cordoned {
			t.Errorf("%s: got unschedulable %t, want %t", name, node.Spec.Unschedulable, cordoned)
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == "Ready" && condition.Status != "True" {
				t.Errorf("%s: got Ready %s, want True", name, condition.Status)
			}
		}
		for mark := range node.Annotations {
			if strings.HasPrefix(mark, v1alpha1.Group+"/") {
				t.Errorf("%s: it still has the annotation %s", name, mark)
			}
		}
	}
	c.checkStaticPods(t)
}

func (c *testCluster) checkStaticPods(t *testing.T) {
	pods, err := c.kube.CoreV1().Pods("kube-system").List(c.ctx, metav1.ListOptions{LabelSelector: "tier=control-plane"})
	if err != nil {
		t.Fatal(err)
	}
	components := 0
	for _, pod := range pods.Items {
		image := pod.Spec.Containers[0].Image
		if pod.Labels["component"] == "etcd" {
			continue
		}
		components++
		if !strings.HasSuffix(image, ":"+to) || pod.Status.Phase != "Running" {
			t.Errorf("%s: got image %s and phase %s, want "+to+" and Running", pod.Name, image, pod.Status.Phase)
		}
	}
	if components != 3 {
		t.Errorf("got %d static pods besides etcd, want 3", components)
	}
}

// checkOneReader checks that since then the index was read by one machine only.
func (c *testCluster) checkOneReader(t *testing.T, since time.Time) {
	t.Helper()
	requests, err := serve.Requests(filepath.Join(filepath.Dir(c.Kubeconfig), "serve"))
	if err != nil {
		t.Fatal(err)
	}
	reads := map[string]int{}
	for _, request := range requests {
		if request.Time.After(since) {
			reads[request.Client]++
		}
	}
	if len(reads) != 1 {
		t.Errorf("the index was read by %v, want one reader", reads)
	}
	t.Logf("requests to the image server meanwhile: %v", reads)
}
