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

// minorAsWanted looks at the cluster, and at the nodes themselves: one conf, the
// new minor's, and the old image still there for the way back.
func (w *world) minorAsWanted(t *testing.T) {
	for _, name := range w.nodes {
		node, err := w.kube.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := node.Status.NodeInfo.KubeletVersion; got != minorTo || node.Spec.Unschedulable {
			t.Errorf("%s: kubelet %s, unschedulable %t", name, got, node.Spec.Unschedulable)
		}
		link := w.must(t)(w.Exec(w.ctx, name, "readlink", "-f", "/etc/extensions/kubernetes.raw"))
		if want := "kubernetes-" + minorTo + "-x86-64.raw"; !strings.HasSuffix(strings.TrimSpace(link), want) {
			t.Errorf("%s: the symlink leads to %s", name, link)
		}
		confs := strings.Fields(w.must(t)(w.Exec(w.ctx, name, "ls", "/etc/sysupdate.kubernetes.d")))
		if len(confs) != 1 || confs[0] != "kubernetes-v1.35.conf" {
			t.Errorf("%s: confs %v, want kubernetes-v1.35.conf alone", name, confs)
		}
		images := w.must(t)(w.Exec(w.ctx, name, "ls", "/opt/extensions/kubernetes"))
		if !strings.Contains(images, "kubernetes-"+minorFrom+"-x86-64.raw") {
			t.Errorf("%s: the image of %s is gone: %s", name, minorFrom, images)
		}
	}
	w.minorStaticPods(t)
	w.snapshotRecorded(t)
}

func (w *world) minorStaticPods(t *testing.T) {
	pods, err := w.kube.CoreV1().Pods("kube-system").List(w.ctx, metav1.ListOptions{LabelSelector: "tier=control-plane"})
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for _, pod := range pods.Items {
		image := pod.Spec.Containers[0].Image
		at[pod.Labels["component"]+image[strings.LastIndex(image, ":"):]]++
	}
	for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		if at[component+":"+minorTo] != len(w.controlPlanes()) {
			t.Errorf("%s: %v", component, at)
		}
	}
}

// snapshotRecorded wants etcd's snapshot where the ClusterUpgrade says it is,
// with the bytes that it says.
func (w *world) snapshotRecorded(t *testing.T) {
	upgrade, err := w.ours.ClusterUpgrades.Get(w.ctx, minorTo, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	snapshot := upgrade.Status.EtcdSnapshot
	if snapshot == nil {
		t.Fatal("the upgrade records no etcd snapshot")
	}
	sum := w.must(t)(w.Exec(w.ctx, snapshot.Node, "sha256sum", snapshot.Path))
	hash, _, _ := strings.Cut(sum, " ")
	if v1alpha1.DigestOf(hash) != snapshot.Digest {
		t.Errorf("%s on %s has the hash %s, the upgrade says %s", snapshot.Path, snapshot.Node, hash, snapshot.Digest)
	}
	t.Logf("etcd snapshot: %s on %s", snapshot.Path, snapshot.Node)
}

// minorHistory asks the plugin about what is over.
func (w *world) minorHistory(t *testing.T) {
	all := w.must(t)(w.Upgrade(w.ctx, "history"))
	one := w.must(t)(w.Upgrade(w.ctx, "history", minorTo))
	t.Logf("\n%s\n%s", all, one)
	for _, word := range []string{minorFrom, minorTo, "Succeeded"} {
		if !strings.Contains(all, word) {
			t.Errorf("the history does not say %q", word)
		}
	}
	for _, name := range w.nodes {
		if !strings.Contains(one, name) {
			t.Errorf("the history of %s does not name %s", minorTo, name)
		}
	}
}

// whoIsAt names a node at that step, but none of those.
func (w *world) whoIsAt(t *testing.T, step v1alpha1.Step, but ...string) string {
	t.Helper()
	nodes, err := w.nodeUpgrades()
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

func (w *world) someAt(step v1alpha1.Step, but ...string) error {
	nodes, err := w.nodeUpgrades()
	if err != nil {
		return err
	}
	var steps []string
	for _, node := range nodes {
		if node.Status.Step == step && !slices.Contains(but, node.Name) {
			return nil
		}
		steps = append(steps, told(node))
	}
	return fmt.Errorf("no node is at %s: %s", step, strings.Join(steps, ", "))
}

// manifestsMoved is true once kubeadm has put a backup of a manifest away, and
// not completed: then a power cut leaves a control plane of two versions.
func (w *world) manifestsMoved(node string) error {
	_, err := w.Exec(w.ctx, node, "sh", "-c", "ls /etc/kubernetes/tmp/kubeadm-backup-manifests-*/kube-apiserver.yaml")
	return err
}
