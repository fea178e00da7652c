package view

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// A node is told of as far as its words are about this very upgrade, and not at all
// where the upgrade does not select it.
func TestProgressIsThatOfTheUpgrade(t *testing.T) {
	u := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u", UID: "new"}, Spec: v1alpha1.ClusterUpgradeSpec{
		Version: "v1.34.4", NodeSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "web"}},
	}}
	step := []v1alpha1.StepTime{{Step: v1alpha1.StepUnlocking}}
	hold := []metav1.Condition{{Type: v1alpha1.ConditionAdmitted, Status: metav1.ConditionFalse, Reason: "NotItsTurn", Message: "others go first"}}
	var s clusterstate.Snapshot
	for name, word := range map[string]struct {
		pool, ordered, reported, kubelet string
	}{
		"done":         {"web", "new", "new", "v1.34.4"},
		"behind":       {"web", "new", "old", "v1.34.3"},
		"not-asked":    {"web", "old", "old", "v1.34.3"},
		"not-selected": {"db", "old", "old", "v1.34.3"},
	} {
		s.Nodes = append(s.Nodes, clusterstate.Node{Name: name, Labels: map[string]string{"pool": word.pool}})
		n := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}}
		n.Spec.Upgrade = &v1alpha1.UpgradeReference{Name: "u", UID: word.ordered}
		n.Status = v1alpha1.NodeUpgradeStatus{
			Step: v1alpha1.StepIdle, Upgrade: &v1alpha1.UpgradeReference{Name: "u", UID: word.reported}, Steps: step,
			Versions: v1alpha1.NodeVersions{Kubelet: word.kubelet}, Conditions: hold,
		}
		s.NodeUpgrades = append(s.NodeUpgrades, n)
	}
	type row struct {
		state  State
		reason v1alpha1.Reason
		steps  int
	}
	got := map[string]row{}
	for _, n := range NewProgress(s, u, plan.Plan{}).Nodes {
		got[n.Name] = row{n.State, n.Reason, len(n.Steps)}
	}
	want := map[string]row{
		"done":      {StateDone, "NotItsTurn", 1},
		"behind":    {StateWaiting, "NotItsTurn", 0},
		"not-asked": {StateWaiting, "", 0},
	}
	for name, one := range want {
		if got[name] != one {
			t.Errorf("%s: %+v, want %+v", name, got[name], one)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d nodes are told of, want %d", len(got), len(want))
	}
}

// TestProgressOfAnEndedUpgrade checks that an upgrade which has ended shows how its nodes went, also once their agents
// have forgotten it: as its record has it, and without one by their versions.
func TestProgressOfAnEndedUpgrade(t *testing.T) {
	u := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u", UID: "1"}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"}}
	u.Status.Outcome = v1alpha1.OutcomeFailed
	var s clusterstate.Snapshot
	record := v1alpha1.UpgradeRecord{}
	record.Spec.Upgrade = u.Reference()
	for name, kubelet := range map[string]string{"done": "v1.34.4", "not-begun": "v1.34.3"} {
		n := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.NodeUpgradeStatus{
			Step: v1alpha1.StepIdle, Versions: v1alpha1.NodeVersions{Kubelet: kubelet},
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionTrue, Reason: string(v1alpha1.ReasonNoUpgrade), Message: "no upgrade is requested"}},
		}}
		s.Nodes, s.NodeUpgrades = append(s.Nodes, clusterstate.Node{Name: name}), append(s.NodeUpgrades, n)
	}
	record.Spec.Nodes = []v1alpha1.NodeRecord{
		{Name: "done", Steps: []v1alpha1.StepTime{{Step: v1alpha1.StepLocking}, {Step: v1alpha1.StepUnlocking}}}, {Name: "not-begun", Reason: v1alpha1.ReasonNodeFailed},
	}
	for name, test := range map[string]struct {
		records []v1alpha1.UpgradeRecord
		steps   int
		reason  v1alpha1.Reason
	}{
		"with its record": {[]v1alpha1.UpgradeRecord{record}, 2, v1alpha1.ReasonNodeFailed},
		"without it":      {nil, 0, ""},
	} {
		s.Records = test.records
		for _, n := range NewProgress(s, u, plan.Plan{}).Nodes {
			want := Node{Name: "not-begun", State: StateWaiting, Reason: test.reason}
			steps := 0
			if n.Name == "done" {
				want, steps = Node{Name: "done", State: StateDone}, test.steps
			}
			if n.State != want.State || n.Reason != want.Reason || n.Message != "" || len(n.Steps) != steps {
				t.Errorf("%s: %s is %s, %q, %q with %d steps; want %s, %q with %d", name, n.Name, n.State, n.Reason, n.Message, len(n.Steps), want.State, want.Reason, steps)
			}
		}
	}
}

// A control plane goes in two passes, unless kubeadm has nothing to change.
func TestPasses(t *testing.T) {
	patch, reboot := &v1alpha1.ClusterUpgrade{}, &v1alpha1.ClusterUpgrade{}
	patch.Spec.Version = "v1.34.4"
	for name, test := range map[string]struct {
		have      v1alpha1.NodeVersions
		upgrade   *v1alpha1.ClusterUpgrade
		all, done int
	}{
		"a worker":              {v1alpha1.NodeVersions{Kubelet: "v1.34.3", Kubeadm: "v1.34.4"}, patch, 1, 0},
		"a control plane":       {v1alpha1.NodeVersions{ControlPlane: "v1.34.3", Kubeadm: "v1.34.3"}, patch, 2, 0},
		"after its first pass":  {v1alpha1.NodeVersions{ControlPlane: "v1.34.4", Kubeadm: "v1.34.4"}, patch, 2, 1},
		"a reboot changes none": {v1alpha1.NodeVersions{ControlPlane: "v1.34.3", Kubeadm: "v1.34.3"}, reboot, 1, 0},
	} {
		if all, done := passes(test.have, test.upgrade); all != test.all || done != test.done {
			t.Errorf("%s: %d of %d passes, want %d of %d", name, done, all, test.done, test.all)
		}
	}
}
