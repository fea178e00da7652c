package coordinator

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
)

// TestStatusIsNotWrittenToReplacedUpgrade checks a coordinator that has not read yet that
// `kubectl replace --force` deleted an upgrade and created another of the same name: it
// must not write the status of the first to the second.
func TestStatusIsNotWrittenToReplacedUpgrade(t *testing.T) {
	c := newWriter(t)
	spec := v1alpha1.ClusterUpgradeSpec{Type: v1alpha1.TypeReboot}
	upgrade := func() *v1alpha1.ClusterUpgrade {
		u, err := c.ours.ClusterUpgrades.Create(t.Context(), &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "replaced"}, Spec: spec}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	remove := func() {
		if err := c.ours.ClusterUpgrades.Delete(t.Context(), "replaced", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	first := upgrade()
	first.Status.TriggerTime = &metav1.Time{Time: time.Now().Truncate(time.Second)}
	remove()
	second := upgrade()
	defer remove()
	status := *first.Status.DeepCopy()
	status.Progress = "1/3"
	_, err := c.writeStatuses(t.Context(), []v1alpha1.ClusterUpgrade{*first}, []plan.UpgradeStatus{{Name: first.Name, UID: string(first.UID), Status: status}})
	now, readErr := c.ours.ClusterUpgrades.Get(t.Context(), "replaced", metav1.GetOptions{})
	if readErr != nil {
		t.Fatal(readErr)
	}
	if now.UID != second.UID || now.Status.TriggerTime != nil || now.Status.Progress != "" {
		t.Errorf("the second upgrade has the status of the first: triggered %v, progress %q", now.Status.TriggerTime, now.Status.Progress)
	}
	if err != nil && !apierrors.IsConflict(err) {
		t.Errorf("got error %v, want a conflict", err)
	}
}
