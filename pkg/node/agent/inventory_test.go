package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// TestFactsChanged checks that an inventory is written for changes that matter only, as a
// thousand nodes write one.
func TestFactsChanged(t *testing.T) {
	start := time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)
	facts := func(at time.Time, change func(*v1alpha1.NodeFacts)) v1alpha1.NodeFacts {
		f := v1alpha1.NodeFacts{
			GatheredTime: metav1.NewTime(at), CgroupVersion: 2, Installed: []string{"v1.34.3"},
			Disks: []v1alpha1.DiskFacts{{Path: "/a", FreeBytes: 1000}},
			Etcd:  &v1alpha1.EtcdFacts{DatabaseBytes: 1000, Members: []v1alpha1.EtcdMember{{Name: "a", Healthy: true}}},
		}
		change(&f)
		return f
	}
	nothing := func(*v1alpha1.NodeFacts) {}
	for name, test := range map[string]struct {
		change func(*v1alpha1.NodeFacts)
		want   bool
	}{
		"nothing but the time": {nothing, false},
		"a little room":        {func(f *v1alpha1.NodeFacts) { f.Disks[0].FreeBytes = 950 }, false},
		"much less room":       {func(f *v1alpha1.NodeFacts) { f.Disks[0].FreeBytes = 800 }, true},
		"much more room":       {func(f *v1alpha1.NodeFacts) { f.Disks[0].FreeBytes = 1200 }, true},
		"full":                 {func(f *v1alpha1.NodeFacts) { f.Disks[0].FreeBytes = 0 }, true},
		"another disk":         {func(f *v1alpha1.NodeFacts) { f.Disks[0].Path = "/b" }, true},
		"a disk more":          {func(f *v1alpha1.NodeFacts) { f.Disks = append(f.Disks, v1alpha1.DiskFacts{Path: "/b"}) }, true},
		"no disk":              {func(f *v1alpha1.NodeFacts) { f.Disks = nil }, true},
		"etcd grows a little":  {func(f *v1alpha1.NodeFacts) { f.Etcd.DatabaseBytes = 1050 }, false},
		"etcd grows":           {func(f *v1alpha1.NodeFacts) { f.Etcd.DatabaseBytes = 2000 }, true},
		"etcd breaks":          {func(f *v1alpha1.NodeFacts) { f.Etcd.Members[0].Healthy = false }, true},
		"etcd is gone":         {func(f *v1alpha1.NodeFacts) { f.Etcd = nil }, true},
		"an image":             {func(f *v1alpha1.NodeFacts) { f.Installed = append(f.Installed, "v1.34.4") }, true},
		"a mount":              {func(f *v1alpha1.NodeFacts) { f.RefreshBlockers = []string{"/usr/a"} }, true},
	} {
		if got := factsChanged(facts(start, nothing), facts(start.Add(time.Hour), test.change)); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}

// TestInventory checks that the inventory is owned by the Node, written on change, and
// created again if it was deleted.
func TestInventory(t *testing.T) {
	c := newCluster(t, "agent-inventory")
	c.host.Facts.Node = v1alpha1.NodeFacts{
		CgroupVersion: 2, RefreshBlockers: []string{"/usr/a"}, Disks: []v1alpha1.DiskFacts{{Path: "/etc/kubernetes", FreeBytes: 1 << 30}},
	}
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.awaitInventory("it exists", func(v1alpha1.NodeInventory) bool { return true })
	inventory := c.awaitInventory("it has the image", func(i v1alpha1.NodeInventory) bool { return len(i.Installed) == 2 })
	want := v1alpha1.NodeFacts{GatheredTime: inventory.GatheredTime, Installed: []string{"v1.34.3", "v1.34.4"}, CgroupVersion: 2, RefreshBlockers: []string{"/usr/a"}, Disks: c.host.Facts.Node.Disks}
	if diff := cmp.Diff(want, inventory.NodeFacts); diff != "" || inventory.GatheredTime.IsZero() {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	owner := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: c.node, UID: inventory.OwnerReferences[0].UID}}
	if diff := cmp.Diff(owner, inventory.OwnerReferences); diff != "" || string(owner[0].UID) != c.owner.UID {
		t.Errorf("owner %s (-want +got):\n%s", c.owner.UID, diff)
	}
	c.kill()
	c.run() // nothing has changed
	c.must(c.ours.NodeInventories.Delete(t.Context(), c.node, metav1.DeleteOptions{}))
	c.awaitInventory("it is created again", func(i v1alpha1.NodeInventory) bool { return i.UID != inventory.UID })
}

// TestInventoryIsNotRewritten checks that a new agent keeps the facts about etcd before it
// has read them itself, and does not write what has not changed.
func TestInventoryIsNotRewritten(t *testing.T) {
	c := newControlPlane(t, "agent-inventory-stands")
	c.order(v1alpha1.ReleaseNone)
	c.run()
	before := c.awaitInventory("it has etcd", func(i v1alpha1.NodeInventory) bool { return i.Etcd != nil && len(i.Installed) == 2 })
	c.kill()
	c.run()
	time.Sleep(2 * time.Second)
	after := c.awaitInventory("it exists", func(v1alpha1.NodeInventory) bool { return true })
	if after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the inventory was written again:\n%s", cmp.Diff(before.NodeFacts, after.NodeFacts))
	}
}

// TestUnmanagedNode checks that the facts of a node without a NodeUpgrade are gathered, and
// that nothing is changed on it.
func TestUnmanagedNode(t *testing.T) {
	c := newCluster(t, "agent-unmanaged")
	c.host.Facts.Armed = true
	c.run()
	c.awaitInventory("its facts are gathered", func(i v1alpha1.NodeInventory) bool { return !i.GatheredTime.IsZero() })
	time.Sleep(2 * time.Second)
	if began := c.host.Verbs(); len(began) > 0 {
		t.Errorf("got work on the host %v, want none", began)
	}
	c.order(v1alpha1.ReleaseNone)
	c.awaitStep(v1alpha1.StepWaiting)
	if diff := cmp.Diff([]string{string(verb.Disarm), string(verb.Stage)}, c.host.Verbs()); diff != "" {
		t.Errorf("work on the host (-want +got):\n%s", diff)
	}
}
