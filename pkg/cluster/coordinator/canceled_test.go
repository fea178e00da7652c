package coordinator_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestDeletedUpgradeLeavesRecord deletes an upgrade before its end, at once and by a finalizer of another program.
// It checks that one record says so, and that none is created again for one that is removed.
func TestDeletedUpgradeLeavesRecord(t *testing.T) {
	c := newCluster(t, "cp1", "w1")
	c.index.offer("v1.34.3")
	c.schedule("never", func(m *v1alpha1.MaintenanceSchedule) {
		m.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{Period: m.Spec.MaintenanceWindows[0].Period, Comment: "frozen"}}
	})
	c.startCoordinator("one")
	c.startAgent("cp1")
	c.startAgent("w1")
	for _, finalizer := range []string{"", "example.org/keep"} {
		name := "deleted" + finalizer[:min(7, len(finalizer))]
		u := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterUpgradeSpec{Type: v1alpha1.TypeReboot, Comment: "tonight"}}
		if finalizer != "" {
			u.Finalizers = []string{finalizer}
		}
		created, err := c.ours.ClusterUpgrades.Create(t.Context(), u, metav1.CreateOptions{})
		c.must(err)
		c.eventually(func() string {
			now, err := c.ours.ClusterUpgrades.Get(t.Context(), name, metav1.GetOptions{})
			c.must(err)
			if now.Status.TriggerTime == nil {
				return "upgrade " + name + " is not triggered"
			}
			return ""
		})
		c.must(c.ours.ClusterUpgrades.Delete(t.Context(), name, metav1.DeleteOptions{}))
		recorded := func() (list []v1alpha1.UpgradeRecord) {
			found, err := c.ours.UpgradeRecords.List(t.Context(), metav1.ListOptions{LabelSelector: v1alpha1.UpgradeUIDLabel + "=" + string(created.UID)})
			c.must(err)
			return found.Items
		}
		c.eventually(func() string {
			list := recorded()
			if len(list) != 1 || list[0].Spec.Outcome != v1alpha1.OutcomeCanceled || list[0].Spec.Comment != "tonight" || len(list[0].Spec.Nodes) != 2 {
				return fmt.Sprintf("upgrade %s has the records %+v, want one that says Canceled, with 2 nodes", name, list)
			}
			return ""
		})
		if finalizer != "" {
			_, err := c.ours.ClusterUpgrades.Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			c.must(err)
		}
		c.checkNoWrites()
		if list := recorded(); len(list) != 1 {
			t.Errorf("upgrade %s has %d records, want 1", name, len(list))
		}
	}
}
