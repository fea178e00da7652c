package plan_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestUpgradeIsCreatedAgain deletes an upgrade at a random moment and creates the same one
// again. All nodes are upgraded, and none twice.
func TestUpgradeIsCreatedAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t)
		if len(c.Etcd) == 2 {
			return // with two members of etcd no control plane begins
		}
		first := c.Upgrades[0]
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			c.check(t, c.step())
		}
		c.Upgrades = nil
		for range rapid.IntRange(0, 12).Draw(t, "steps without any") {
			c.step()
		}
		var done []string
		for _, n := range c.Nodes {
			if n.Kubelet == c.to && n.SlotAnnotation == "" {
				done = append(done, n.Name)
			}
		}
		c.begun, c.snapshots = nil, 0
		again := first
		again.Name, again.UID, again.CreationTimestamp = "again", c.uid("again"), metav1.NewTime(c.now)
		c.Upgrades = append(c.Upgrades, again)
		wants := again.Spec.Strategy.EtcdSnapshotPolicy != "Skip" && c.needsKubeadm(false)
		// A node that works for the first upgrade may still finish.
		maybe := again.Spec.Strategy.EtcdSnapshotPolicy != "Skip" && c.needsKubeadm(true)
		for range 40 + 16*len(c.Nodes) {
			p := c.step()
			for _, n := range p.Nodes {
				if n.Decision == plan.Done && n.Slot != "" {
					t.Fatalf("%s is released although it is done", n.Name)
				}
			}
		}
		for _, n := range c.Nodes {
			if n.Kubelet != c.to {
				t.Fatalf("node %s runs %s, want %s: %s", n.Name, n.Kubelet, c.to, c.why(n.Name))
			}
			if slices.Contains(done, n.Name) && slices.Contains(c.begun, n.Name) {
				t.Fatalf("%s was done before, but was cordoned again", n.Name)
			}
		}
		if taken := c.upgrade("again").Status.EtcdSnapshot; wants && taken == nil || !maybe && taken != nil || c.snapshots > 1 {
			t.Fatalf("snapshot needed %t, got %+v, %d were taken", wants, taken, c.snapshots)
		}
	})
}

// needsKubeadm reports whether a control plane does not run the version yet: one that is
// in service, or any.
func (c *chaos) needsKubeadm(all bool) bool {
	resting := []v1alpha1.Step{"", v1alpha1.StepIdle, v1alpha1.StepStaging, v1alpha1.StepWaiting}
	return slices.ContainsFunc(c.Nodes, func(n clusterstate.Node) bool {
		status := c.nodeUpgrade(n.Name, n.UID).Status
		return n.ControlPlane && status.Versions.Kubeadm != c.to && (all || slices.Contains(resting, status.Step))
	})
}
