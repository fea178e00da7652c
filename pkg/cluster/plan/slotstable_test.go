package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// signs are the marks and steps of a node with regard to one slot.
type signs struct {
	name   string
	step   v1alpha1.Step
	marks  bool // its Node's annotation names the slot of its order
	orders bool // its order names a slot
	goes   bool // it is released
	agent  bool // an agent has run there
	stale  bool // its status answers an older order
	former bool // its status is about an upgrade that its order does not name
}

var everySign = []signs{
	{name: "rests", step: v1alpha1.StepIdle, agent: true},
	{name: "waits for its turn", step: v1alpha1.StepWaiting, agent: true},
	{name: "is about to take it", step: v1alpha1.StepWaiting, orders: true, goes: true, agent: true},
	{name: "has just been withdrawn", step: v1alpha1.StepWaiting, orders: true, agent: true, stale: true},
	{name: "takes it", step: v1alpha1.StepLocking, orders: true, goes: true, agent: true},
	{name: "runs kubeadm", step: v1alpha1.StepKubeadm, orders: true, goes: true, agent: true},
	{name: "drains", step: v1alpha1.StepDraining, orders: true, goes: true, marks: true, agent: true},
	{name: "failed", step: v1alpha1.StepFailed, orders: true, goes: true, agent: true},
	{name: "works on, and was abandoned", step: v1alpha1.StepRebooting, orders: true, agent: true},
	{name: "frees it", step: v1alpha1.StepUnlocking, orders: true, goes: true, agent: true},
	{name: "is up to date, and frees it", step: v1alpha1.StepIdle, orders: true, goes: true, agent: true},
	{name: "comes back without an order", step: v1alpha1.StepVerifying, agent: true},
	{name: "failed in an earlier upgrade", step: v1alpha1.StepRolledBack, agent: true, former: true},
	{name: "aborts the attempt of an earlier upgrade", step: v1alpha1.StepAborting, agent: true, former: true},
	{name: "does not answer", agent: true},
	{name: "has a new NodeUpgrade, and was drained", marks: true, agent: true},
	{name: "has no agent"},
}

// signedNode returns a node with those signs, whose order names the slot if it names one.
func signedNode(name string, s signs, slot string) (clusterstate.Node, v1alpha1.NodeUpgrade, v1alpha1.NodeInventory) {
	owner := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: "uid"}}
	n := clusterstate.Node{Name: name, UID: "uid", Ready: true, OS: "linux", Kubelet: "v1.34.3"}
	u := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owner, Generation: 1}}
	u.Status.Step, u.Status.ObservedGeneration = s.step, 1
	if s.stale {
		u.Status.ObservedGeneration = 0
	}
	if s.former {
		u.Status.Upgrade = &v1alpha1.UpgradeReference{Name: "former", UID: "former"}
	}
	if s.orders {
		u.Spec.Slot = slot
	}
	if s.goes {
		u.Spec.Release = v1alpha1.ReleaseNode
	}
	if s.marks {
		n.SlotAnnotation = slot
	}
	inventory := v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owner}}
	if !s.agent {
		inventory.OwnerReferences = nil
	}
	return n, u, inventory
}

// TestEverySlotIsMended puts every combination of holder and reservation into a Lease, whatever two
// nodes' marks and steps are, and carries out the slot plan until nothing is left to do. The slot is then
// held by a node that has taken it, or by one of which that is not known, or by none. A node that has
// taken it and that the Lease names never loses it, and no reservation stays that no order names.
func TestEverySlotIsMended(t *testing.T) {
	w1, w2 := clusterstate.Owner{Node: "w1", UID: "uid"}, clusterstate.Owner{Node: "w2", UID: "uid"}
	none, gone, former := clusterstate.Owner{}, clusterstate.Owner{Node: "gone", UID: "uid"}, clusterstate.Owner{Node: "w1", UID: "former"}
	owners := []clusterstate.Owner{none, w1, w2, gone, former}
	cases := 0
	for _, sign1 := range everySign {
		for _, sign2 := range everySign {
			for _, ordered2 := range []string{"slot-0", "slot-1"} {
				for _, holder := range append(slices.Clone(owners), clusterstate.Owner{Node: "unreadable"}, clusterstate.Owner{Node: "deleted"}) {
					for _, reserved := range owners {
						s := &clusterstate.Snapshot{Slots: []clusterstate.Slot{{Name: "slot-0", Holder: holder, ReservedFor: reserved}, {Name: "slot-1"}}}
						switch holder.Node {
						case "unreadable":
							s.Slots[0] = clusterstate.Slot{Name: "slot-0", Unreadable: true, ReservedFor: reserved}
						case "deleted":
							s.Slots = s.Slots[1:]
						}
						for name, one := range map[string]struct {
							signs
							slot string
						}{"w1": {sign1, "slot-0"}, "w2": {sign2, ordered2}} {
							n, u, inventory := signedNode(name, one.signs, one.slot)
							s.Nodes, s.NodeUpgrades, s.Inventories = append(s.Nodes, n), append(s.NodeUpgrades, u), append(s.Inventories, inventory)
						}
						cases++
						what := fmt.Sprintf("w1 %s (slot-0), w2 %s (%s); slot-0 is held by %q and reserved for %q", sign1.name, sign2.name, ordered2, holder.Node, reserved)
						mendSlots(t, what, s)
						if t.Failed() {
							return
						}
					}
				}
			}
		}
	}
	t.Logf("%d combinations", cases)
}

// mendSlots carries out the slot plan until it changes nothing, and checks the result.
func mendSlots(t *testing.T, what string, s *clusterstate.Snapshot) {
	t.Helper()
	now := time.Date(2026, 11, 24, 23, 0, 0, 0, time.UTC)
	s.Policy = &v1alpha1.UpgradePolicy{}
	s.Policy.Spec.Strategy.MaxUnavailable = ptr.To(intstr.FromInt32(2))
	var before []clusterstate.Slot
	for round := range 4 {
		c := newCluster(read(s, now), queue{})
		verdicts := make([]verdict, len(c.nodes))
		for i, n := range c.nodes {
			verdicts[i].release = n.spec.Release // none is withdrawn, and none begins
		}
		p := c.slotPlan(verdicts)
		before = s.Slots
		for _, given := range p.GiveBack {
			if n := byName(c, given.Holder.Node); n.tookSlot && n.spec.Slot == given.Name {
				t.Errorf("%s: %s is given back under %s, which has taken it", what, given.Name, n.Name)
			}
		}
		for _, lost := range p.Restore {
			if n := byName(c, lost.Instead.Node); n != nil && n.Owner() == lost.Instead && n.tookSlot && n.spec.Slot == lost.Name {
				t.Errorf("%s: %s is taken from %s, which has taken it", what, lost.Name, n.Name)
			}
			if n := byName(c, lost.Instead.Node); n != nil && n.Owner() == lost.Instead && n.silent() && n.SlotAnnotation == lost.Name {
				t.Errorf("%s: %s is taken from %s, whose NodeUpgrade is new, and whose Node names that slot", what, lost.Name, n.Name)
			}
			if n := byName(c, lost.Instead.Node); n != nil && n.Owner() == lost.Instead && n.status.Upgrade != nil {
				t.Errorf("%s: %s is taken from %s, which has not ended its attempt at an earlier upgrade", what, lost.Name, n.Name)
			}
			goes := func(n *node) bool { return n.tookSlot && n.spec.Slot == lost.Name && n.released() }
			if slices.ContainsFunc(c.nodes, goes) && !goes(byName(c, lost.Owner.Node)) {
				t.Errorf("%s: %s is restored for %s, which is not released, and another node that has taken it is", what, lost.Name, lost.Owner.Node)
			}
		}
		s.Slots = p.Apply(s.Slots)
		if round < 3 {
			continue
		}
		if len(p.Restore)+len(p.GiveBack)+len(p.Reap)+len(p.Withdraw) > 0 || !slices.Equal(before, s.Slots) {
			t.Errorf("%s: there is no end: %+v", what, p)
		}
		for _, slot := range s.Slots {
			checkMended(t, what, c, slot)
		}
	}
}

// checkMended checks what a Lease says in the end.
func checkMended(t *testing.T, what string, c *cluster, slot clusterstate.Slot) {
	t.Helper()
	took := func(n *node) bool {
		return n.tookSlot && n.spec.Slot == slot.Name || slot.Holder == n.Owner() && (n.silent() && n.SlotAnnotation == slot.Name || n.status.Upgrade != nil)
	}
	taken := slices.ContainsFunc(c.nodes, took)
	holder, reserved := byName(c, slot.Holder.Node), byName(c, slot.ReservedFor.Node)
	switch {
	case slot.Unreadable && !taken:
		return
	case taken && (holder == nil || !took(holder)):
		t.Errorf("%s: in the end %s is held by %q, which has not taken it", what, slot.Name, slot.Holder)
	case slot.Holder == clusterstate.Owner{}:
	case holder == nil || holder.Owner() != slot.Holder:
		t.Errorf("%s: in the end %s is held by %q, which is gone", what, slot.Name, slot.Holder)
	case !taken && !holder.mayKeep(slot.Name):
		t.Errorf("%s: in the end %s is held by %q, which rests", what, slot.Name, slot.Holder)
	}
	if slot.ReservedFor != (clusterstate.Owner{}) && slot.ReservedFor != slot.Holder && (reserved == nil || reserved.spec.Slot != slot.Name && reserved.spec.Slot != "") {
		t.Errorf("%s: in the end %s is reserved for %q, whose order names no such slot", what, slot.Name, slot.ReservedFor)
	}
}

func byName(c *cluster, name string) *node {
	for _, n := range c.nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// TestReleasedNodeKeepsItsSlot checks a plan that sees an order, but not yet the Lease that was reserved for it before:
// no other node gets that slot, and the node no other one.
func TestReleasedNodeKeepsItsSlot(t *testing.T) {
	for name, test := range map[string]struct {
		observed     int64
		first, later string
	}{
		"its agent has not answered": {1, "slot-0", "slot-1"},
		"its agent waits for a slot": {2, "slot-1", "slot-0"},
	} {
		s := &clusterstate.Snapshot{Slots: []clusterstate.Slot{{Name: "slot-0"}, {Name: "slot-1"}}, Policy: &v1alpha1.UpgradePolicy{}}
		s.Policy.Spec.Strategy.MaxUnavailable = ptr.To(intstr.FromInt32(2))
		for _, node := range []string{"w1", "w2"} {
			n, u, inventory := signedNode(node, everySign[1], "")
			if node == "w2" {
				u.Generation, u.Status.ObservedGeneration, u.Status.Step = 2, test.observed, v1alpha1.StepWaiting
				u.Spec.Release, u.Spec.Slot = v1alpha1.ReleaseNode, "slot-1"
			}
			s.Nodes, s.NodeUpgrades, s.Inventories = append(s.Nodes, n), append(s.NodeUpgrades, u), append(s.Inventories, inventory)
		}
		c := newCluster(read(s, time.Now()), queue{})
		a := &allocation{cluster: c, spare: c.spareSlots(), ordered: c.orderedSlots()}
		for node, want := range map[string]string{"w1": test.first, "w2": test.later} {
			one := *a
			one.spare = slices.Clone(a.spare)
			if node == "w2" {
				one.takeSlot(byName(c, "w1"))
			}
			if hold := one.takeSlot(byName(c, node)); hold.Holds() || one.taken != want {
				t.Errorf("%s: %s takes %s (%s), want %s", name, node, one.taken, hold.Message, want)
			}
		}
	}
}

// TestControlPlanesByFactsShareOneSlot checks that nodes which run an apiserver or a member of etcd by
// their own files use one slot, though their Nodes have lost the label.
func TestControlPlanesByFactsShareOneSlot(t *testing.T) {
	s := &clusterstate.Snapshot{Slots: []clusterstate.Slot{{Name: "slot-0"}, {Name: "slot-1"}, {Name: "slot-2"}}, Policy: &v1alpha1.UpgradePolicy{}}
	s.Policy.Spec.Strategy.MaxUnavailable = ptr.To(intstr.FromInt32(3))
	for i, pods := range [][]string{{"kube-apiserver", "etcd"}, {"etcd"}, {"kube-apiserver"}, nil} {
		n, u, inventory := signedNode(fmt.Sprint("w", i), everySign[1], "")
		inventory.StaticPods = pods
		s.Nodes, s.NodeUpgrades, s.Inventories = append(s.Nodes, n), append(s.NodeUpgrades, u), append(s.Inventories, inventory)
	}
	c := newCluster(read(s, time.Now()), queue{})
	a := &allocation{cluster: c, spare: []string{"slot-2", "slot-1", "slot-0"}}
	got := map[string]string{}
	for _, n := range c.nodes {
		if hold := a.takeSlot(n); hold.Holds() {
			got[n.Name] = string(hold.Reason)
		} else {
			got[n.Name] = a.taken
		}
		if isControlPlane := n.Name == "w0" || n.Name == "w2"; n.ControlPlane != isControlPlane {
			t.Errorf("%s is a control plane: %t", n.Name, n.ControlPlane)
		}
	}
	taken := 0
	for _, name := range []string{"w0", "w1", "w2"} {
		if got[name] == "slot-0" {
			taken++
		} else if got[name] != "NoSlot" {
			t.Errorf("%s gets %s", name, got[name])
		}
	}
	if taken != 1 || got["w3"] != "slot-2" {
		t.Errorf("slots: %v", got)
	}
}

// TestClocks checks that a wrong clock holds its node, and the coordinator's holds every node.
func TestClocks(t *testing.T) {
	n := &node{facts: &v1alpha1.NodeFacts{}}
	c := &cluster{reading: &reading{snapshot: &clusterstate.Snapshot{}}}
	if hold := clockDiffers(c, n); hold.Holds() {
		t.Errorf("right clocks: %+v", hold)
	}
	n.facts.ClockAheadSeconds = -90
	if hold := clockDiffers(c, n); hold.Reason != v1alpha1.ReasonClockDiffers || !strings.Contains(hold.Message, "this node is 1m30s behind the API server's") {
		t.Errorf("the node's clock is behind: %+v", hold)
	}
	c.reading.snapshot.ClockAhead = 45 * time.Second
	if hold := clockDiffers(c, &node{}); hold.Reason != v1alpha1.ReasonClockDiffers || !strings.Contains(hold.Message, "the coordinator is 50s ahead of") {
		t.Errorf("the coordinator's clock is ahead: %+v", hold)
	}
}
