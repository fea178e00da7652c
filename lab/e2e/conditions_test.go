//go:build e2e

package e2e

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// waitsForVolumes is the upgrade, whose drained nodes wait for their volumes.
const waitsForVolumes = `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: ` + to + `}
spec:
  version: ` + to + `
  strategy: {settleSeconds: 10, drain: {volumesDetachedSeconds: 600}}
`

// controllersStart is how long the new kube-controller-manager needs: at its start it detaches volumes
// that no pod uses.
const controllersStart = 30 * time.Second

// TestNodeConditions patches a control plane and a worker, and checks what the worker's Node shows
// at each moment, beside the condition of another client, with the real kubelet, whose reports keep
// them. The worker has a volume that is attached, as far as the API server knows.
func TestNodeConditions(t *testing.T) {
	c := newCluster(t, 1, 1)
	c.install(t)
	c.connect(t)
	c.must(t)(c.Kube(c.ctx, "patch", "node", "w1", "--subresource", "status", "--type", "strategic", "-p",
		`{"status":{"conditions":[{"type":"HardwareFine","status":"True","reason":"Checked","message":"m"}]}}`))
	shown := c.recordConditions(t)
	c.must(t)(c.Kube(c.ctx, "label", "node", "w1", v1alpha1.HoldLabel+"="))
	c.apply(t, scenario.OpenSchedule)
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to))
	c.apply(t, waitsForVolumes)
	c.eventually(t, 20*time.Minute, "cp1 is done", func() error { return c.done("cp1") })
	time.Sleep(controllersStart)
	name, volume := c.attachVolume(t)
	c.must(t)(c.Kube(c.ctx, "label", "node", "w1", v1alpha1.HoldLabel+"-"))
	c.eventually(t, 10*time.Minute, "w1 waits for its volume", func() error { return c.at("w1", v1alpha1.StepDetaching) })
	c.awaitStatus(t, v1alpha1.ReasonVolumesAttached, "csi.example", "w1")
	c.checkStatus(t, "VolumesAttached", volume)
	c.listVolumes(t, "null") // its detachment begins
	time.Sleep(15 * time.Second)
	if err := c.at("w1", v1alpha1.StepDetaching); err != nil {
		t.Errorf("while the VolumeAttachment exists: %v", err)
	}
	if err := c.kube.StorageV1().VolumeAttachments().Delete(c.ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually(t, 15*time.Minute, "every node is done", c.everyNodeDone)
	c.eventually(t, time.Minute, "no Node shows anything of an upgrade", func() error { return c.showsNothing() })
	got := shown()
	want := []string{"", "MaintenancePlanned", "DrainInProgress MaintenancePlanned", "Drained MaintenanceInProgress", ""}
	if !slices.Equal(got, want) {
		t.Errorf("w1 has shown %q, want %q", got, want)
	}
	node, err := c.kube.CoreV1().Nodes().Get(c.ctx, "w1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(node.Status.Conditions, func(one corev1.NodeCondition) bool { return one.Type == "HardwareFine" }) {
		t.Error("the condition of another client is gone")
	}
	c.checkActive(t, "w1", to)
}

// attachVolume makes w1 look as if a CSI volume were attached to it. No program of the lab attaches
// or detaches one.
func (c *testCluster) attachVolume(t *testing.T) (name, volume string) {
	t.Helper()
	const driver, handle = "csi.example", "pv-1"
	name = fmt.Sprintf("csi-%x", sha256.Sum256([]byte(handle+driver+"w1")))
	persistent := handle
	attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}}
	attachment.Spec = storagev1.VolumeAttachmentSpec{Attacher: driver, NodeName: "w1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &persistent}}
	if _, err := c.kube.StorageV1().VolumeAttachments().Create(c.ctx, attachment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	volume = "kubernetes.io/csi/" + driver + "^" + handle
	c.listVolumes(t, `[{"name":"`+volume+`","devicePath":""}]`)
	return name, volume
}

func (c *testCluster) listVolumes(t *testing.T, list string) {
	t.Helper()
	patch := []byte(`{"status":{"volumesAttached":` + list + `}}`)
	if _, err := c.kube.CoreV1().Nodes().Patch(c.ctx, "w1", types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

// shownBy returns what a Node shows of an upgrade.
func shownBy(node *corev1.Node) string {
	var list []string
	for _, one := range node.Status.Conditions {
		if one.Reason == v1alpha1.NodeConditionReason && one.Status == corev1.ConditionTrue {
			list = append(list, string(one.Type))
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// recordConditions reads w1 twice a second from now on. The function that it returns ends that, and
// returns what w1 has shown, one entry for each change. The API server is away meanwhile.
func (c *testCluster) recordConditions(t *testing.T) func() []string {
	t.Helper()
	end, seen := make(chan struct{}), make(chan []string)
	go func() {
		shown := []string{""}
		for ended := false; !ended; {
			select {
			case <-end:
				ended = true // after it is read once more
			case <-time.After(500 * time.Millisecond):
			}
			node, err := c.kube.CoreV1().Nodes().Get(c.ctx, "w1", metav1.GetOptions{})
			if err != nil {
				continue
			}
			if now := shownBy(node); now != shown[len(shown)-1] {
				shown = append(shown, now)
			}
		}
		seen <- shown
	}()
	return func() []string {
		close(end)
		return <-seen
	}
}

func (c *testCluster) showsNothing() error {
	nodes, err := c.kube.CoreV1().Nodes().List(c.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range nodes.Items {
		if shows := shownBy(&nodes.Items[i]); shows != "" {
			return errors.New(nodes.Items[i].Name + " shows " + shows)
		}
	}
	return nil
}
