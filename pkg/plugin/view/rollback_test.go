package view

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestTakenBackWhileItMatters checks that a version is shown while a node lacks it.
func TestTakenBackWhileItMatters(t *testing.T) {
	all := []v1alpha1.TakenBackVersion{{Version: "v1.34.4"}, {Version: "no version"}}
	for kubelet, want := range map[string]int{"v1.34.3": 1, "v1.34.4": 0, "v1.34.5": 0, "v1.33.9": 0, "": 0} {
		if got := NewTakenBack(all, []string{"v1.35.0", kubelet}); len(got) != want {
			t.Errorf("a kubelet %s: got %d, want %d", kubelet, len(got), want)
		}
	}
}

// TestProgressOfRollback checks that a control plane goes once, and that a node is done once it runs
// the former patch.
func TestProgressOfRollback(t *testing.T) {
	u := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "back", UID: "1"}, Spec: v1alpha1.ClusterUpgradeSpec{Type: v1alpha1.TypeRollback, Version: "v1.34.3"}}
	var s clusterstate.Snapshot
	for name, kubelet := range map[string]string{"cp-1": "v1.34.4", "cp-2": "v1.34.3"} {
		n := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}}
		n.Status.Step, n.Status.Versions = v1alpha1.StepIdle, v1alpha1.NodeVersions{Kubelet: kubelet, Kubeadm: "v1.34.4", ControlPlane: "v1.34.4"}
		s.NodeUpgrades = append(s.NodeUpgrades, n)
		s.Nodes = append(s.Nodes, clusterstate.Node{Name: name, Kubelet: kubelet, ControlPlane: true})
	}
	want := map[string]State{"cp-1": StateWaiting, "cp-2": StateDone}
	for _, n := range NewProgress(s, u, plan.Plan{}).Nodes {
		if n.State != want[n.Name] || n.Passes != 1 || n.PassesDone != 0 {
			t.Errorf("%s: %s, %d of %d passes", n.Name, n.State, n.PassesDone, n.Passes)
		}
	}
}

// TestNewRollback checks what a Rollback does besides.
func TestNewRollback(t *testing.T) {
	s := clusterstate.Snapshot{APIServers: []clusterstate.StaticPod{{Version: "v1.34.4"}, {Version: "v1.34.4"}}, Upgrades: []v1alpha1.ClusterUpgrade{
		{ObjectMeta: metav1.ObjectMeta{Name: "newer", UID: "2"}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.5"}},
	}}
	u := &v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Type: v1alpha1.TypeRollback, Version: "v1.34.3", NodeSelector: &v1alpha1.LabelSelector{}}}
	decided := plan.Plan{Upgrade: "(supposed)", Nodes: []plan.NodePlan{{Name: "w1", Decision: plan.Wait}, {Name: "w2", Decision: plan.Done}}, TakenBack: []v1alpha1.TakenBackVersion{
		{Version: "v1.34.4", Upgrade: v1alpha1.UpgradeReference{Name: "(supposed)"}}, {Version: "v1.34.9", Upgrade: v1alpha1.UpgradeReference{Name: "before"}},
	}}
	got := NewRollback(s, u, decided)
	if !slices.Equal(got.APIServers, []string{"v1.34.4"}) || !slices.Equal(got.Ends, []string{"newer"}) || !slices.Equal(got.Blocks, []string{"v1.34.4", "v1.34.5"}) || !slices.Equal(got.Holds, []string{"w1"}) {
		t.Errorf("got %+v", got)
	}
	if u.Spec.NodeSelector = nil; len(NewRollback(s, u, decided).Holds) > 0 {
		t.Error("a Rollback of all nodes leaves none on hold")
	}
	if u.Spec.Type = v1alpha1.TypePatch; NewRollback(s, u, decided) != nil {
		t.Error("a Patch is a Rollback")
	}
}
