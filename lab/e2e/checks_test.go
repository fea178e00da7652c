//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/serve"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

func (w *world) apply(t *testing.T, manifest string) {
	t.Helper()
	if err := w.KubeApply(w.ctx, manifest); err != nil {
		t.Fatal(err)
	}
}

// everyNodeWaits for the reason given, with a sentence.
func (w *world) everyNodeWaits(t *testing.T, reason v1alpha1.Reason) {
	t.Helper()
	w.eventually(t, 3*time.Minute, fmt.Sprintf("every node waits for %s", reason), func() error {
		nodes, err := w.nodeUpgrades()
		if err != nil {
			return err
		}
		for _, node := range nodes {
			if got, message := node.Status.Explain(); got != reason || message == "" {
				return errors.New(told(node))
			}
		}
		return nil
	})
}

// statusNames asks the plugin, which must use these words.
func (w *world) statusNames(t *testing.T, words ...string) {
	t.Helper()
	screen := w.must(t)(w.Upgrade(w.ctx, "status"))
	t.Log("\n" + screen)
	for _, word := range words {
		if !strings.Contains(screen, word) {
			t.Errorf("kubectl upgrade status does not say %q", word)
		}
	}
}

// staged says whether the new image lies beside the running one on every node.
func (w *world) staged(t *testing.T) {
	t.Helper()
	for _, node := range w.nodes {
		images := w.must(t)(w.Exec(w.ctx, node, "ls", "/opt/extensions/kubernetes"))
		for _, version := range []string{from, to} {
			if !strings.Contains(images, "kubernetes-"+version+"-x86-64.raw") {
				t.Errorf("%s has no image of %s: %s", node, version, images)
			}
		}
	}
}

// untouched looks at the nodes themselves: the old image is active, kubeadm was
// never run, the node takes pods.
func (w *world) untouched(t *testing.T) {
	t.Helper()
	for _, name := range w.nodes {
		w.active(t, name, from)
		ran := w.must(t)(w.Exec(w.ctx, name, "sh", "-c", "journalctl -q -u kubectl-upgrade-kubeadm.service -o cat; find /opt/kubectl-upgrade -name 'kubeadm*'"))
		if strings.TrimSpace(ran) != "" {
			t.Errorf("%s: kubeadm was run: %s", name, ran)
		}
		node, err := w.kube.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if node.Spec.Unschedulable || node.Status.NodeInfo.KubeletVersion != from {
			t.Errorf("%s: unschedulable %t, kubelet %s", name, node.Spec.Unschedulable, node.Status.NodeInfo.KubeletVersion)
		}
	}
}

// active checks symlink and conf: exactly one conf, of the minor that runs, that
// can neither activate nor delete.
func (w *world) active(t *testing.T, node, version string) {
	t.Helper()
	link := w.must(t)(w.Exec(w.ctx, node, "readlink", "-f", "/etc/extensions/kubernetes.raw"))
	if want := "/opt/extensions/kubernetes/kubernetes-" + version + "-x86-64.raw"; strings.TrimSpace(link) != want {
		t.Errorf("%s: the symlink leads to %q, want %q", node, strings.TrimSpace(link), want)
	}
	confs := strings.Fields(w.must(t)(w.Exec(w.ctx, node, "ls", "/etc/sysupdate.kubernetes.d")))
	if len(confs) != 1 || confs[0] != "kubernetes-v1.34.conf" {
		t.Errorf("%s: confs %v, want kubernetes-v1.34.conf alone", node, confs)
		return
	}
	conf := w.must(t)(w.Exec(w.ctx, node, "cat", "/etc/sysupdate.kubernetes.d/"+confs[0]))
	_, patch, _ := strings.Cut(version, "v1.34.")
	for line := range strings.Lines(conf) {
		if strings.HasPrefix(line, "CurrentSymlink=") {
			t.Errorf("%s: the conf would flip the symlink: %s", node, line)
		}
	}
	if !strings.Contains(conf, "ProtectVersion="+patch+"\n") {
		t.Errorf("%s: the conf does not protect %s:\n%s", node, patch, conf)
	}
}

// everyNodeDone reports a node that is not done.
func (w *world) everyNodeDone() error {
	nodes, err := w.nodeUpgrades()
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if !isDone(node) {
			return fmt.Errorf("kubelet %s, %s", node.Status.Versions.Kubelet, told(node))
		}
	}
	return nil
}

// told returns where a node says that it is, and why.
func told(node v1alpha1.NodeUpgrade) string {
	reason, message := node.Status.Explain()
	return fmt.Sprintf("%s: step %s, reason %s: %s", node.Name, node.Status.Step, reason, message)
}

// recorded reports an error unless the ClusterUpgrade says that it succeeded on
// every node.
func (w *world) recorded(name string) error {
	upgrade, err := w.ours.ClusterUpgrades.Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if upgrade.Status.Outcome != v1alpha1.OutcomeSucceeded || upgrade.Status.Nodes.Done != int32(len(w.nodes)) {
		return fmt.Errorf("outcome %q, %s done", upgrade.Status.Outcome, upgrade.Status.Progress)
	}
	return nil
}

// asWanted looks at the cluster and at the nodes themselves. foreign are the
// nodes that the product did not cordon: they stay cordoned.
func (w *world) asWanted(t *testing.T, foreign ...string) {
	for _, name := range w.nodes {
		w.active(t, name, to)
		node, err := w.kube.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := node.Status.NodeInfo.KubeletVersion; got != to {
			t.Errorf("%s: kubelet %s, want %s", name, got, to)
		}
		if cordoned := slices.Contains(foreign, name); node.Spec.Unschedulable != cordoned {
			t.Errorf("%s: unschedulable %t, want %t", name, node.Spec.Unschedulable, cordoned)
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == "Ready" && condition.Status != "True" {
				t.Errorf("%s: Ready is %s", name, condition.Status)
			}
		}
		for mark := range node.Annotations {
			if strings.HasPrefix(mark, v1alpha1.Group+"/") {
				t.Errorf("%s: the mark %s is left", name, mark)
			}
		}
	}
	w.staticPods(t)
}

func (w *world) staticPods(t *testing.T) {
	pods, err := w.kube.CoreV1().Pods("kube-system").List(w.ctx, metav1.ListOptions{LabelSelector: "tier=control-plane"})
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
			t.Errorf("%s: image %s, phase %s", pod.Name, image, pod.Status.Phase)
		}
	}
	if components != 3 {
		t.Errorf("%d static pods beside etcd, want 3", components)
	}
}

// oneLook wants the index to have been read since then, and for the whole
// cluster by one machine.
func (w *world) oneLook(t *testing.T, since time.Time) {
	t.Helper()
	requests, err := serve.Requests(filepath.Join(filepath.Dir(w.Kubeconfig), "serve"))
	if err != nil {
		t.Fatal(err)
	}
	looks := map[string]int{}
	for _, request := range requests {
		if request.Time.After(since) {
			looks[request.Client]++
		}
	}
	if len(looks) != 1 {
		t.Errorf("the index was read by %v, want one reader", looks)
	}
	t.Logf("requests to the image server meanwhile: %v", looks)
}
