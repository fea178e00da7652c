package coordinator_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/coordinator"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestAutomaticPatch checks that a patch which appears in the index is installed on every
// node without a command, and that the coordinator writes nothing afterwards.
func TestAutomaticPatch(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2", "w3")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.3")
	c.startCoordinator("one")
	for _, name := range []string{"cp1", "w1", "w2", "w3"} {
		c.startAgent(name)
	}
	c.eventually(c.noNodeHasOrder)
	c.index.offer("v1.34.3", "v1.34.4")
	c.eventually(c.succeeded("v1.34.4"))

	c.outages.check(c)
	if order := c.outages.nodes(); len(order) != 5 || order[0] != "cp1" || order[1] != "cp1" {
		t.Errorf("out of service were %v, want cp1 for its kubeadm, cp1 for its kubelet, then each worker once", order)
	}
	c.eventually(c.noNodeHasOrder)
	c.checkNoWrites()
	done, err := c.ours.ClusterUpgrades.Get(t.Context(), "v1.34.4", metav1.GetOptions{})
	c.must(err)
	if taken := done.Status.EtcdSnapshot; taken == nil || taken.Node != "cp1" || taken.Path != "/snapshot" || taken.Digest != v1alpha1.DigestOf(strings.Repeat("a", 64)) {
		t.Errorf("the upgrade records the snapshot of etcd %+v, want cp1's", taken)
	}
	c.awaitEvents("v1.34.4", "Created", "Triggered", "Finished")
	records, err := c.ours.UpgradeRecords.List(t.Context(), metav1.ListOptions{LabelSelector: v1alpha1.UpgradeUIDLabel + "=" + string(done.UID)})
	c.must(err)
	if len(records.Items) != 1 || len(records.Items[0].Spec.Nodes) != 4 || records.Items[0].Spec.Outcome != v1alpha1.OutcomeSucceeded {
		t.Errorf("got the record %+v, want one piece with 4 nodes", records.Items)
	}

	c.addNode("w4")
	c.startAgent("w4")
	c.eventually(c.upgraded("w4"))
}

// TestTwoCoordinatorsAtOnce checks that two coordinators that both lead keep the promises.
func TestTwoCoordinatorsAtOnce(t *testing.T) {
	names := []string{"cp1", "cp2", "cp3", "w1", "w2", "w3", "w4", "w5"}
	c := newCluster(t, names...)
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	c.startCoordinator("one")
	c.startCoordinator("two")
	for _, name := range names {
		c.startAgent(name)
	}
	c.eventually(c.succeeded("v1.34.4"))
	c.outages.check(c)
	got := slices.Sorted(slices.Values(c.outages.nodes()))
	if want := "cp1 cp1 cp2 cp2 cp3 cp3 w1 w2 w3 w4 w5"; strings.Join(got, " ") != want {
		t.Errorf("out of service were %v, want %s", got, want)
	}
	c.checkNoWrites()
}

// TestHoldsAreReported checks that the reason of a hold is in the status of the nodes, of
// the upgrade and of the schedule.
func TestHoldsAreReported(t *testing.T) {
	c := newCluster(t, "cp1", "w1")
	c.index.offer("v1.34.4")
	c.schedule("frozen", func(m *v1alpha1.MaintenanceSchedule) {
		m.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{Period: m.Spec.MaintenanceWindows[0].Period, Comment: "a big day"}}
	})
	c.startCoordinator("one")
	c.startAgent("cp1")
	c.startAgent("w1")
	c.eventually(c.everyNodeHeldBy(v1alpha1.ReasonExcluded))
	c.awaitEvents("v1.34.4", "Triggered", "Excluded")
	if len(c.outages.nodes()) != 0 {
		t.Errorf("during an exclusion %v went out of service", c.outages.nodes())
	}
	c.eventually(func() string {
		frozen, err := c.ours.MaintenanceSchedules.Get(t.Context(), "frozen", metav1.GetOptions{})
		c.must(err)
		if frozen.Status.State != "Excluded" || frozen.Status.UntilTime == nil || !meta.IsStatusConditionTrue(frozen.Status.Conditions, v1alpha1.ConditionValid) {
			return fmt.Sprintf("schedule frozen has status %+v, want a valid one that is Excluded", frozen.Status)
		}
		return ""
	})

	unlock := c.lockKured()
	c.eventually(c.everyNodeHeldBy(v1alpha1.ReasonOtherRebootManager))
	c.checkNoWrites()
	unlock()
	c.eventually(c.everyNodeHeldBy(v1alpha1.ReasonExcluded))

	apitest.CreateWithoutRules(t, c.config, func() error {
		broken, err := c.ours.MaintenanceSchedules.Get(t.Context(), "frozen", metav1.GetOptions{})
		c.must(err)
		broken.ObjectMeta = metav1.ObjectMeta{Name: "broken"}
		broken.Spec.MaintenanceWindows[0].Recurrence = "FREQ=MONTHLY;BYSETPOS=1"
		_, err = c.ours.MaintenanceSchedules.Create(t.Context(), broken, metav1.CreateOptions{})
		return err
	})
	c.eventually(c.everyNodeHeldBy(v1alpha1.ReasonScheduleInvalid))
	stalled := func(name string) bool {
		s, err := c.ours.MaintenanceSchedules.Get(t.Context(), name, metav1.GetOptions{})
		c.must(err)
		return meta.IsStatusConditionFalse(s.Status.Conditions, v1alpha1.ConditionValid) && meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionStalled)
	}
	c.eventually(func() string {
		if !stalled("broken") || stalled("frozen") {
			return fmt.Sprintf("schedules are stalled: broken %t, frozen %t, want true, false", stalled("broken"), stalled("frozen"))
		}
		return ""
	})
	c.checkNoWrites()
	c.must(c.ours.MaintenanceSchedules.Delete(t.Context(), "broken", metav1.DeleteOptions{}))
	c.must(c.ours.MaintenanceSchedules.Delete(t.Context(), "frozen", metav1.DeleteOptions{}))
	c.eventually(c.everyNodeHeldBy(v1alpha1.ReasonWindowClosed))

	// While the source is read, the policy would create the upgrade again.
	c.index.Close()
	c.eventually(c.policyHasCondition(v1alpha1.ConditionSourceReady, metav1.ConditionFalse, v1alpha1.ReasonSourceUnavailable))
	c.must(c.ours.ClusterUpgrades.Delete(t.Context(), "v1.34.4", metav1.DeleteOptions{}))
	c.eventually(c.noNodeHasOrder)
}

// TestSlotIsRebuiltAndFreed checks that a slot is rebuilt if its Lease is deleted while its
// node is out of service, and freed if the Node is deleted.
func TestSlotIsRebuiltAndFreed(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2")
	c.index.offer("v1.34.3")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	node, err := c.kube.CoreV1().Nodes().Get(t.Context(), "w1", metav1.GetOptions{})
	c.must(err)
	node.Annotations = map[string]string{v1alpha1.SlotAnnotation: "slot-1"}
	_, err = c.kube.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{})
	c.must(err)
	// The coordinator wrote this slot when it released the node.
	w1 := c.manualAgent("w1")
	_, err = c.ours.NodeUpgrades.Patch(t.Context(), "w1", types.MergePatchType, []byte(`{"spec":{"slot":"slot-1"}}`), metav1.PatchOptions{})
	c.must(err)
	w1.report(t.Context(), v1alpha1.StepDraining)
	c.startCoordinator("one")
	c.eventually(c.slotHeldBy("slot-1", "w1/"+string(node.UID)))
	c.must(c.kube.CoordinationV1().Leases(v1alpha1.Namespace).Delete(t.Context(), "slot-1", metav1.DeleteOptions{}))
	c.eventually(c.slotHeldBy("slot-1", "w1/"+string(node.UID)))
	c.must(c.kube.CoreV1().Nodes().Delete(t.Context(), "w1", metav1.DeleteOptions{}))
	c.eventually(c.slotHeldBy("slot-1", ""))

	c.addNode("w1")
	c.eventually(func() string {
		u, err := c.ours.NodeUpgrades.Get(t.Context(), "w1", metav1.GetOptions{})
		if err != nil || u.OwnerReferences[0].UID == node.UID {
			return fmt.Sprintf("NodeUpgrade w1 is still the old node's (%v)", err)
		}
		return ""
	})
}

// TestOneReplicaLeads checks that one replica leads, and that another one takes over when\n// it stops.
func TestOneReplicaLeads(t *testing.T) {
	c := newCluster(t)
	leads := make(chan string)
	lead := func(name string) context.CancelFunc {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- coordinator.Lead(ctx, c.kube, name, discard(), nil, func(ctx context.Context) error {
				leads <- name
				<-ctx.Done()
				return nil
			})
		}()
		return func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	stopOne := lead("one")
	if name := <-leads; name != "one" {
		t.Fatalf("%s leads, want one", name)
	}
	stopTwo := lead("two")
	defer stopTwo()
	select {
	case name := <-leads:
		t.Fatalf("%s leads although one does", name)
	case <-time.After(time.Second):
	}
	stopOne()
	select {
	case name := <-leads:
		if name != "two" {
			t.Fatalf("%s leads, want two", name)
		}
	case <-time.After(time.Minute):
		t.Fatal("no replica took over within a minute")
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// everyNodeHeldBy checks that every node is held for that reason.
func (c *cluster) everyNodeHeldBy(reason v1alpha1.Reason) func() string {
	return func() string {
		nodes, err := c.kube.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{})
		c.must(err)
		list, err := c.ours.NodeUpgrades.List(c.Context(), metav1.ListOptions{})
		c.must(err)
		for _, n := range list.Items {
			if got, message := n.Status.Hold(); got != reason {
				return fmt.Sprintf("%s is held by %s (%s), want %s", n.Name, got, message, reason)
			}
		}
		if len(list.Items) != len(nodes.Items) {
			return fmt.Sprintf("got %d NodeUpgrades for %d nodes", len(list.Items), len(nodes.Items))
		}
		return ""
	}
}

// noNodeHasOrder checks that every node has a NodeUpgrade without an order.
func (c *cluster) noNodeHasOrder() string {
	nodes, err := c.kube.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{})
	c.must(err)
	list, err := c.ours.NodeUpgrades.List(c.Context(), metav1.ListOptions{})
	c.must(err)
	for _, n := range list.Items {
		if admitted := meta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionAdmitted); n.Spec.Upgrade != nil || admitted != nil || n.Status.HoldEndTime != nil {
			return fmt.Sprintf("%s has an order for upgrade %+v, admitted %+v", n.Name, n.Spec.Upgrade, admitted)
		}
	}
	if len(list.Items) != len(nodes.Items) {
		return fmt.Sprintf("got %d NodeUpgrades for %d nodes", len(list.Items), len(nodes.Items))
	}
	return ""
}

func (c *cluster) policyHasCondition(condition string, status metav1.ConditionStatus, reason v1alpha1.Reason) func() string {
	return func() string {
		policy, err := c.ours.UpgradePolicies.Get(c.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		c.must(err)
		got := meta.FindStatusCondition(policy.Status.Conditions, condition)
		if got == nil || got.Status != status || reason != "" && got.Reason != string(reason) || policy.Status.ObservedGeneration != policy.Generation {
			return fmt.Sprintf("the policy of generation %d has status %+v, want condition %s %s (%s)", policy.Generation, policy.Status, condition, status, reason)
		}
		return ""
	}
}

func (c *cluster) succeeded(name string) func() string {
	return func() string {
		u, err := c.ours.ClusterUpgrades.Get(c.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if u.Status.Outcome != v1alpha1.OutcomeSucceeded {
			return fmt.Sprintf("upgrade %s has not succeeded: %+v", name, u.Status)
		}
		return ""
	}
}

// upgraded checks that the node runs v1.34.4, to which these tests upgrade.
func (c *cluster) upgraded(node string) func() string {
	const version = "v1.34.4"
	return func() string {
		n, err := c.kube.CoreV1().Nodes().Get(c.Context(), node, metav1.GetOptions{})
		c.must(err)
		if n.Status.NodeInfo.KubeletVersion != version {
			return fmt.Sprintf("%s runs %s, want %s", node, n.Status.NodeInfo.KubeletVersion, version)
		}
		return ""
	}
}

func (c *cluster) slotHeldBy(slot, want string) func() string {
	return func() string {
		lease, err := c.kube.CoordinationV1().Leases(v1alpha1.Namespace).Get(c.Context(), slot, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		got := ""
		if lease.Spec.HolderIdentity != nil {
			got = *lease.Spec.HolderIdentity
		}
		if got != want {
			return fmt.Sprintf("%s is held by %q, want %q", slot, got, want)
		}
		return ""
	}
}

// awaitEvents waits for an event of each reason about the upgrade.
func (c *cluster) awaitEvents(upgrade string, reasons ...string) {
	c.Helper()
	c.eventually(func() string {
		list, err := c.kube.CoreV1().Events("default").List(c.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + upgrade})
		c.must(err)
		seen := map[string]bool{}
		for _, e := range list.Items {
			seen[e.Reason] = true
		}
		for _, reason := range reasons {
			if !seen[reason] {
				return fmt.Sprintf("no event %s, got %v", reason, slices.Sorted(maps.Keys(seen)))
			}
		}
		return ""
	})
}

// checkNoWrites checks that nothing is written while nothing happens. Writes that are
// still under way on a slow machine may end first, and reasons that are written once they have lasted.
func (c *cluster) checkNoWrites() {
	c.Helper()
	before := c.versions()
	c.eventually(func() string {
		time.Sleep(2500 * time.Millisecond)
		last := before
		before = c.versions()
		return cmp.Diff(last, before)
	})
	time.Sleep(2500 * time.Millisecond)
	if diff := cmp.Diff(before, c.versions()); diff != "" {
		c.Errorf("written though nothing happened (-before +after):\n%s", diff)
	}
}
