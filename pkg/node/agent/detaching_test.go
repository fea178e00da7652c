package agent

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// attach creates the VolumeAttachment of a volume, and returns its name and the volume's.
func (c *cluster) attach(handle string) (name, volume string) {
	c.t.Helper()
	name = fmt.Sprintf("csi-%x", sha256.Sum256([]byte(handle+"csi.example"+c.node)))
	_, err := c.admin.StorageV1().VolumeAttachments().Create(c.t.Context(), &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: "csi.example", NodeName: c.node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To(handle)}},
	}, metav1.CreateOptions{})
	c.must(err)
	return name, "kubernetes.io/csi/csi.example^" + handle
}

func (c *cluster) listVolumes(list string) {
	c.t.Helper()
	c.kubectl("patch", "node", c.node, "--subresource", "status", "--type", "merge", "-p", `{"status":{"volumesAttached":`+list+`}}`)
}

// TestWaitsForVolumes checks that a drained node waits for its volumes, by what a kubelet may read
// alone: first the Node lists them, then the VolumeAttachment is there, also for the next agent.
func TestWaitsForVolumes(t *testing.T) {
	c := newCluster(t, "agent-volumes")
	c.kubelet()
	name, volume := c.attach("pv-1")
	c.listVolumes(`[{"name":"` + volume + `","devicePath":""}]`)
	c.order(v1alpha1.ReleaseNode, func(s *v1alpha1.NodeUpgradeSpec) { s.Drain.VolumesDetachedSeconds = ptr.To[int32](300) })
	c.run()
	waits := func(s agentStatus) bool {
		return s.Step == v1alpha1.StepDetaching && s.Reason == v1alpha1.ReasonVolumesAttached
	}
	status := c.await("it waits for the volume", waits)
	if diff := cmp.Diff([]string{volume}, status.AttachedVolumes); diff != "" || status.StepEndTime == nil {
		t.Errorf("attached volumes (-want +got), until %v:\n%s", status.StepEndTime, diff)
	}
	c.listVolumes("null") // its detachment has begun
	c.kill()
	c.run()
	time.Sleep(8 * time.Second)
	if status := c.status(); !waits(status) || !slices.Equal(status.AttachedVolumes, []string{volume}) {
		t.Errorf("while the volume is being detached: %+v", status)
	}
	c.must(c.admin.StorageV1().VolumeAttachments().Delete(context.Background(), name, metav1.DeleteOptions{}))
	status = c.awaitStep(v1alpha1.StepIdle)
	if status.AttachedVolumes != nil || !slices.Contains(stepsOf(status), v1alpha1.StepDetaching) {
		t.Errorf("status %+v", status)
	}
	c.checkFree()
}
