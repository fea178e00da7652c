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
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/coordinator"
)

// A patch that appears in the index reaches every node with no further command,
// and then the coordinator is quiet.
func TestAPatchByItself(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2", "w3")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.3")
	c.coordinate("one")
	for _, name := range []string{"cp1", "w1", "w2", "w3"} {
		c.agent(name)
	}
	c.eventually(c.noNodeIsAsked)
	c.index.offer("v1.34.3", "v1.34.4")
	c.eventually(c.finished("v1.34.4"))

	if c.tally.most > 2 || c.tally.mostControlPlanes > 1 {
		t.Errorf("%d nodes were down at once, want at most 2", c.tally.most)
	}
	if order := c.tally.order; len(order) != 5 || order[0] != "cp1" || order[1] != "cp1" {
		t.Errorf("order %v, want cp1 for its kubeadm, cp1 for its kubelet, then each worker once", order)
	}
	c.eventually(c.noNodeIsAsked)
	c.quiet()
	done, err := c.ours.ClusterUpgrades.Get(t.Context(), "v1.34.4", metav1.GetOptions{})
	c.must(err)
	if taken := done.Status.EtcdSnapshot; taken == nil || taken.Node != "cp1" || taken.Path != "/snapshot" || taken.Digest != "sha256:abc" {
		t.Errorf("the upgrade records the snapshot of etcd as %+v", taken)
	}
	c.events("v1.34.4", "Created", "Triggered", "Finished")
	records, err := c.ours.UpgradeRecords.List(t.Context(), metav1.ListOptions{LabelSelector: v1alpha1.UpgradeUIDLabel + "=" + string(done.UID)})
	c.must(err)
	if len(records.Items) != 1 || len(records.Items[0].Nodes) != 4 || records.Items[0].Outcome != v1alpha1.OutcomeSucceeded {
		t.Errorf("the record is %+v", records.Items)
	}

	c.addNode("w4")
	c.agent("w4")
	c.eventually(c.reached("w4"))
}

// Two coordinators that both think they lead waste work and break nothing.
func TestTwoCoordinatorsAtOnce(t *testing.T) {
	names := []string{"cp1", "cp2", "cp3", "w1", "w2", "w3", "w4", "w5"}
	c := newCluster(t, names...)
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	c.coordinate("one")
	c.coordinate("two")
	for _, name := range names {
		c.agent(name)
	}
	c.eventually(c.finished("v1.34.4"))
	if c.tally.most > 2 || c.tally.mostControlPlanes > 1 {
		t.Errorf("%d nodes and %d control planes were down at once, want at most 2 and 1", c.tally.most, c.tally.mostControlPlanes)
	}
	slices.Sort(c.tally.order)
	if want := "cp1 cp1 cp2 cp2 cp3 cp3 w1 w2 w3 w4 w5"; strings.Join(c.tally.order, " ") != want {
		t.Errorf("out of service were %v, want %s", c.tally.order, want)
	}
	c.quiet()
}

// What keeps nodes from going is said on them, on the upgrade and on the
// schedule; a slot whose node is gone is freed.
func TestWhatWaitsSaysWhy(t *testing.T) {
	c := newCluster(t, "cp1", "w1")
	c.index.offer("v1.34.4")
	c.schedule("frozen", func(m *v1alpha1.MaintenanceSchedule) {
		m.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{Period: m.Spec.MaintenanceWindows[0].Period, Reason: "a big day"}}
	})
	c.coordinate("one")
	c.agent("cp1")
	c.agent("w1")
	c.eventually(c.everyNodeSays(v1alpha1.ReasonExcluded))
	c.events("v1.34.4", "Triggered", "Excluded")
	if len(c.tally.order) != 0 {
		t.Errorf("during an exclusion %v went out of service", c.tally.order)
	}
	frozen, err := c.ours.MaintenanceSchedules.Get(t.Context(), "frozen", metav1.GetOptions{})
	c.must(err)
	if frozen.Status.State != "Excluded" || frozen.Status.UntilTime == nil || !meta.IsStatusConditionTrue(frozen.Status.Conditions, v1alpha1.ConditionValid) {
		t.Errorf("the schedule says %+v", frozen.Status)
	}

	unlock := c.kuredLocks()
	c.eventually(c.everyNodeSays(v1alpha1.ReasonOtherRebootManager))
	c.quiet()
	unlock()
	c.eventually(c.everyNodeSays(v1alpha1.ReasonExcluded))

	c.schedule("broken", func(m *v1alpha1.MaintenanceSchedule) {
		m.Spec.MaintenanceWindows[0].Recurrence = "FREQ=MONTHLY;BYSETPOS=1"
	})
	c.eventually(c.everyNodeSays(v1alpha1.ReasonScheduleInvalid))
	stalled := func(name string) bool {
		s, err := c.ours.MaintenanceSchedules.Get(t.Context(), name, metav1.GetOptions{})
		c.must(err)
		return meta.IsStatusConditionFalse(s.Status.Conditions, v1alpha1.ConditionValid) && meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionStalled)
	}
	if !stalled("broken") || stalled("frozen") {
		t.Error("the schedule that cannot be understood, and no other, is not valid and stalled")
	}
	c.quiet()
	c.must(c.ours.MaintenanceSchedules.Delete(t.Context(), "broken", metav1.DeleteOptions{}))
	c.must(c.ours.MaintenanceSchedules.Delete(t.Context(), "frozen", metav1.DeleteOptions{}))
	c.eventually(c.everyNodeSays(v1alpha1.ReasonWindowClosed))

	// While the source is read, the policy would create the upgrade again.
	c.index.Close()
	c.eventually(c.policySays(v1alpha1.ConditionSourceReady, metav1.ConditionFalse, v1alpha1.ReasonSourceUnavailable))
	c.must(c.ours.ClusterUpgrades.Delete(t.Context(), "v1.34.4", metav1.DeleteOptions{}))
	c.eventually(c.noNodeIsAsked)
}

// A slot comes back when its Lease is deleted while its node is out, and is
// freed when its Node is deleted.
func TestSlotsAreKept(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2")
	c.index.offer("v1.34.3")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	node, err := c.kube.CoreV1().Nodes().Get(t.Context(), "w1", metav1.GetOptions{})
	c.must(err)
	node.Annotations = map[string]string{v1alpha1.SlotAnnotation: "slot-1"}
	_, err = c.kube.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{})
	c.must(err)
	// What the coordinator had written when it released the node.
	c.byHand("w1")
	_, err = c.ours.NodeUpgrades.Patch(t.Context(), "w1", types.MergePatchType, []byte(`{"spec":{"slot":"slot-1"}}`), metav1.PatchOptions{})
	c.must(err)
	c.coordinate("one")
	c.eventually(c.holder("slot-1", "w1/"+string(node.UID)))
	c.must(c.kube.CoordinationV1().Leases(v1alpha1.Namespace).Delete(t.Context(), "slot-1", metav1.DeleteOptions{}))
	c.eventually(c.holder("slot-1", "w1/"+string(node.UID)))
	c.must(c.kube.CoreV1().Nodes().Delete(t.Context(), "w1", metav1.DeleteOptions{}))
	c.eventually(c.holder("slot-1", ""))

	c.addNode("w1")
	c.eventually(func() string {
		word, err := c.ours.NodeUpgrades.Get(t.Context(), "w1", metav1.GetOptions{})
		if err != nil || word.OwnerReferences[0].UID == node.UID {
			return fmt.Sprintf("NodeUpgrade w1 is still the old node's (%v)", err)
		}
		return ""
	})
}

// One leads; when it goes, the other takes over.
func TestLead(t *testing.T) {
	c := newCluster(t)
	leads := make(chan string)
	lead := func(name string) context.CancelFunc {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- coordinator.Lead(ctx, c.kube, name, discard(), func(ctx context.Context) error {
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
		t.Fatalf("%s leads", name)
	}
	stopTwo := lead("two")
	defer stopTwo()
	select {
	case name := <-leads:
		t.Fatalf("%s leads too", name)
	case <-time.After(time.Second):
	}
	stopOne()
	select {
	case name := <-leads:
		if name != "two" {
			t.Fatalf("%s leads", name)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no replica took over")
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// everyNodeSays wants every node to be held for that reason.
func (c *cluster) everyNodeSays(reason v1alpha1.Reason) func() string {
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
			return fmt.Sprintf("%d NodeUpgrades for %d nodes", len(list.Items), len(nodes.Items))
		}
		return ""
	}
}

// noNodeIsAsked wants every node to have a NodeUpgrade without an order.
func (c *cluster) noNodeIsAsked() string {
	nodes, err := c.kube.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{})
	c.must(err)
	list, err := c.ours.NodeUpgrades.List(c.Context(), metav1.ListOptions{})
	c.must(err)
	for _, n := range list.Items {
		if admitted := meta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionAdmitted); n.Spec.Upgrade != nil || admitted != nil || n.Status.HoldEndTime != nil {
			return fmt.Sprintf("%s is asked for %+v, admitted %+v", n.Name, n.Spec.Upgrade, admitted)
		}
	}
	if len(list.Items) != len(nodes.Items) {
		return fmt.Sprintf("%d NodeUpgrades for %d nodes", len(list.Items), len(nodes.Items))
	}
	return ""
}

func (c *cluster) policySays(condition string, status metav1.ConditionStatus, reason v1alpha1.Reason) func() string {
	return func() string {
		policy, err := c.ours.UpgradePolicies.Get(c.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		c.must(err)
		got := meta.FindStatusCondition(policy.Status.Conditions, condition)
		if got == nil || got.Status != status || reason != "" && got.Reason != string(reason) || policy.Status.ObservedGeneration != policy.Generation {
			return fmt.Sprintf("the policy of generation %d says %+v", policy.Generation, policy.Status)
		}
		return ""
	}
}

func (c *cluster) finished(name string) func() string {
	return func() string {
		u, err := c.ours.ClusterUpgrades.Get(c.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if u.Status.Outcome != v1alpha1.OutcomeSucceeded {
			return fmt.Sprintf("%s: %+v", name, u.Status)
		}
		return ""
	}
}

// reached wants the node to run the version that all these tests upgrade to.
func (c *cluster) reached(node string) func() string {
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

func (c *cluster) holder(slot, want string) func() string {
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

// events wants an event of each reason about the upgrade, in time.
func (c *cluster) events(upgrade string, reasons ...string) {
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
				return fmt.Sprintf("no event %s among %v", reason, slices.Sorted(maps.Keys(seen)))
			}
		}
		return ""
	})
}

// quiet wants nothing to be written while nothing happens.
func (c *cluster) quiet() {
	c.Helper()
	time.Sleep(500 * time.Millisecond)
	before := c.versions()
	time.Sleep(2500 * time.Millisecond)
	if diff := cmp.Diff(before, c.versions()); diff != "" {
		c.Errorf("written though nothing happened:\n%s", diff)
	}
}
