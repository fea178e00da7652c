package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/pretend"
)

// deleteImage deletes the staged image from the node's disk by hand.
func deleteImage(h *pretend.Host) {
	h.Lock()
	defer h.Unlock()
	h.Facts.Installed = []string{"v1.34.3"}
}

// TestImageDeletedBeforeRelease checks that a node whose staged image was deleted stages it
// again before it takes its slot.
func TestImageDeletedBeforeRelease(t *testing.T) {
	c := newCluster(t, "agent-image-released")
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.await("it is staged", func(s agentStatus) bool { return s.Versions.Staged == "v1.34.4" })
	deleteImage(c.host)
	c.order(v1alpha1.ReleaseNode)
	c.awaitStep(v1alpha1.StepIdle)
	if diff := cmp.Diff([]string{"stage", "stage", "kubeadm", "activate"}, c.host.Verbs()); diff != "" {
		t.Errorf("work on the host (-want +got):\n%s", diff)
	}
}

// TestImageDeletedBeforeUpgrade checks that a new upgrade does not count an image as staged
// that was deleted since the last facts.
func TestImageDeletedBeforeUpgrade(t *testing.T) {
	c := newCluster(t, "agent-image-upgrade")
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.await("it is staged", func(s agentStatus) bool { return s.Versions.Staged == "v1.34.4" })
	deleteImage(c.host)
	c.create(&v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "again"}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"}})
	fixed := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "again"}}
	fixed.Status.Images = []v1alpha1.Image{patchImage()}
	_, err := c.ours.ClusterUpgrades.Apply(t.Context(), fixed, "test", "status")
	c.must(err)
	c.order(v1alpha1.ReleaseNone, func(s *v1alpha1.NodeUpgradeSpec) { s.Upgrade = c.upgrade("again") })
	c.await("it follows the new upgrade", func(s agentStatus) bool {
		follows := s.Upgrade != nil && s.Upgrade.Name == "again"
		if follows && s.Step == v1alpha1.StepWaiting && len(c.host.Verbs()) == 1 {
			t.Fatal("the node counts as staged")
		}
		return follows && s.Versions.Staged == "v1.34.4"
	})
}
