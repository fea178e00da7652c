package coordinator_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestNewUpgradeReadsSourceAtOnce checks that an upgrade to a release that has just been
// published does not wait for the interval to end.
func TestNewUpgradeReadsSourceAtOnce(t *testing.T) {
	c := newCluster(t, "cp1")
	c.policy(func(p *v1alpha1.UpgradePolicy) { p.Spec.Source.IntervalSeconds = 3600 })
	c.index.offer("v1.34.3")
	c.startCoordinator("one")
	c.startAgent("cp1")
	c.eventually(c.noNodeHasOrder)
	c.index.offer("v1.34.3", "v1.34.4")
	u := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "v1.34.4"}}
	u.Spec.Version = "v1.34.4"
	_, err := c.ours.ClusterUpgrades.Create(t.Context(), u, metav1.CreateOptions{})
	c.must(err)
	c.eventually(func() string {
		u, err := c.ours.ClusterUpgrades.Get(t.Context(), "v1.34.4", metav1.GetOptions{})
		c.must(err)
		if u.Status.TriggerTime == nil {
			return "the upgrade is not triggered"
		}
		return ""
	})
}
