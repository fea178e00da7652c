package coordinator_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestAutomaticReboot checks that with the policy's permission exactly the nodes reboot
// whose operating systems require it.
func TestAutomaticReboot(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2")
	c.index.offer("v1.34.3")
	c.startCoordinator("one")
	c.startAgentWith("cp1", requiresReboot)
	c.startAgent("w1")
	c.startAgentWith("w2", requiresReboot)
	c.eventually(func() string {
		list, err := c.ours.NodeUpgrades.List(t.Context(), metav1.ListOptions{})
		c.must(err)
		required := 0
		for _, n := range list.Items {
			if n.Status.Reboot.Required {
				required++
			}
		}
		if required != 2 {
			return "not both nodes require a reboot yet"
		}
		return ""
	})
	before := time.Now().UTC().Format(time.DateOnly)
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.policy(func(p *v1alpha1.UpgradePolicy) {
		p.Spec.Automatic = []v1alpha1.AutomaticUpgrade{{Type: v1alpha1.TypeReboot}}
	})
	name := ""
	c.eventually(func() string {
		list, err := c.ours.ClusterUpgrades.List(t.Context(), metav1.ListOptions{})
		c.must(err)
		if len(list.Items) == 0 {
			return "no upgrade was created"
		}
		name = list.Items[0].Name
		return ""
	})
	if today := []string{"reboot-" + before, "reboot-" + time.Now().UTC().Format(time.DateOnly)}; !slices.Contains(today, name) {
		t.Errorf("the upgrade is named %s, want one of %v", name, today)
	}
	c.eventually(c.succeeded(name))
	if order := strings.Join(c.outages.nodes(), " "); order != "cp1 w2" {
		t.Errorf("out of service were %s, want cp1 and then w2", order)
	}
	upgrade, err := c.ours.ClusterUpgrades.Get(t.Context(), name, metav1.GetOptions{})
	c.must(err)
	if diff := cmp.Diff(v1alpha1.NodeCounts{Total: 3, Done: 3}, upgrade.Status.Nodes); diff != "" || upgrade.Status.Type != v1alpha1.TypeReboot || upgrade.Spec.Version != "" {
		t.Errorf("status %+v\n%s", upgrade.Status, diff)
	}
	c.awaitEvents(name, "Created", "Triggered", "Finished")
	c.checkNoWrites()
}
