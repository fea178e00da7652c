package progress

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

var target = version.Version{Major: 1, Minor: 34, Patch: 4}

// facts are those of a control plane that waits for nothing but Cluster API.
func facts() Facts {
	upgrade := &v1alpha1.ClusterUpgrade{
		ObjectMeta: metav1.ObjectMeta{Name: "capi-v1.34.4", UID: "u"},
		Spec:       v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"},
		Status: v1alpha1.ClusterUpgradeStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: "Queued", Message: "waits for upgrade os"},
		}},
	}
	return Facts{
		To: target, ControlPlane: true, Upgrade: upgrade,
		Node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "cp1"},
			Status: corev1.NodeStatus{
				NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v1.34.3"},
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		},
		NodeUpgrade: &v1alpha1.NodeUpgrade{
			ObjectMeta: metav1.ObjectMeta{Name: "cp1"},
			Spec:       v1alpha1.NodeUpgradeSpec{Managed: true, Upgrade: &v1alpha1.UpgradeReference{Name: "capi-v1.34.4", UID: "u"}, Release: v1alpha1.ReleaseNone},
			Status: v1alpha1.NodeUpgradeStatus{
				Step: v1alpha1.StepWaiting, Versions: v1alpha1.NodeVersions{Kubelet: "v1.34.3", ControlPlane: "v1.34.3"},
				Conditions: []metav1.Condition{
					{Type: v1alpha1.ConditionAdmitted, Status: metav1.ConditionFalse, Reason: string(v1alpha1.ReasonNotRequested), Message: "Cluster API has not asked for it"},
					{Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: string(v1alpha1.ReasonAwaitingRelease), Message: "waits"},
				},
			},
		},
	}
}

// upgraded has the version everywhere.
func upgraded(f *Facts) {
	f.Node.Status.NodeInfo.KubeletVersion = "v1.34.4"
	f.NodeUpgrade.Status.Versions = v1alpha1.NodeVersions{Kubelet: "v1.34.4", ControlPlane: "v1.34.4"}
	f.NodeUpgrade.Status.Step = v1alpha1.StepIdle
}

func hold(reason v1alpha1.Reason, message string) func(*Facts) {
	return func(f *Facts) {
		f.NodeUpgrade.Status.Conditions[0].Reason, f.NodeUpgrade.Status.Conditions[0].Message = string(reason), message
	}
}

func all(changes ...func(*Facts)) func(*Facts) {
	return func(f *Facts) {
		for _, change := range changes {
			change(f)
		}
	}
}

func TestOf(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Facts)
		want   Verdict
	}{
		{"waits for Cluster API alone", func(*Facts) {}, Verdict{Next, v1alpha1.ReasonNotRequested, "cp1 waits for nothing but Cluster API"}},
		{"a closed window", hold(v1alpha1.ReasonWindowClosed, "its window opens on Sunday"), Verdict{Waits, v1alpha1.ReasonWindowClosed, "cp1 waits: its window opens on Sunday"}},
		{"released", func(f *Facts) { f.NodeUpgrade.Spec.Release = v1alpha1.ReleaseNode }, Verdict{AtWork, v1alpha1.ReasonReleased, "cp1 was released"}},
		{"at work", func(f *Facts) { f.NodeUpgrade.Status.Step = v1alpha1.StepDraining }, Verdict{AtWork, v1alpha1.ReasonReleased, "cp1 is drained"}},
		{"a step of a newer agent", func(f *Facts) { f.NodeUpgrade.Status.Step = "Dancing" }, Verdict{AtWork, v1alpha1.ReasonReleased, "cp1 is at Dancing"}},
		{"staging fails", all(hold(v1alpha1.ReasonNotStaged, "its image is missing"), func(f *Facts) {
			f.NodeUpgrade.Status.Conditions[1].Reason, f.NodeUpgrade.Status.Conditions[1].Message = "DiskFull", "the disk is full"
		}), Verdict{Waits, v1alpha1.ReasonDiskFull, "cp1 waits: the disk is full"}},
		{"no agent", func(f *Facts) { f.NodeUpgrade = nil }, Verdict{Waits, v1alpha1.ReasonUnmanaged, "cp1 is not known to kubectl-upgrade: install its agents in the workload cluster"}},
		{"no sysext image", func(f *Facts) {
			f.NodeUpgrade.Status.ImageProblem = &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage, Message: "Kubernetes is in the OS image"}
		}, Verdict{Waits, v1alpha1.ReasonUnsupported, "cp1 cannot be upgraded in place: Kubernetes is in the OS image"}},
		{"not managed", all(hold(v1alpha1.ReasonObserved, "spec.mode is Observe"), func(f *Facts) { f.NodeUpgrade.Spec.Managed = false }), Verdict{Waits, v1alpha1.ReasonObserved, "cp1 waits: spec.mode is Observe"}},
		{"no upgrade yet", func(f *Facts) { f.Upgrade = nil }, Verdict{Waits, v1alpha1.ReasonNoUpgrade, "cp1 waits: there is no ClusterUpgrade to v1.34.4 yet"}},
		{"another upgrade is active", func(f *Facts) { f.NodeUpgrade.Spec.Upgrade.UID = "other" }, Verdict{Waits, v1alpha1.ReasonQueued, "cp1 waits for upgrade os"}},
		{"another upgrade is active, and asks for no node", func(f *Facts) {
			f.NodeUpgrade.Spec.Upgrade.UID = "other"
			other := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "capi-v1.34.3", UID: "other"}}
			other.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: string(v1alpha1.ReasonNotRequested)}}
			f.Others = []v1alpha1.ClusterUpgrade{*f.Upgrade, other}
		}, Verdict{Next, v1alpha1.ReasonNotRequested, "cp1 waits for nothing but Cluster API"}},
		{"it failed, and a person has retried", func(f *Facts) {
			f.NodeUpgrade.Status.Step, f.NodeUpgrade.Status.Upgrade = v1alpha1.StepFailed, &v1alpha1.UpgradeReference{Name: "capi-v1.34.4-first", UID: "first"}
		}, Verdict{Waits, v1alpha1.ReasonAwaitingRelease, "cp1 waits: it failed in upgrade capi-v1.34.4-first, and begins again in capi-v1.34.4"}},
		{"the coordinator has not seen the upgrade", func(f *Facts) {
			f.NodeUpgrade.Spec.Upgrade, f.Upgrade.Status = nil, v1alpha1.ClusterUpgradeStatus{ObservedGeneration: -1}
		}, Verdict{Waits, v1alpha1.ReasonQueued, "cp1 waits: the coordinator has not read ClusterUpgrade capi-v1.34.4 yet"}},
		{"no word about the node", func(f *Facts) { f.NodeUpgrade.Status.Conditions = nil }, Verdict{Waits, v1alpha1.ReasonAwaitingRelease, "cp1 waits: the coordinator has not decided about it yet"}},
		{"rolled back", func(f *Facts) {
			f.NodeUpgrade.Status.Step = v1alpha1.StepRolledBack
			f.NodeUpgrade.Status.Conditions[1].Reason, f.NodeUpgrade.Status.Conditions[1].Message = "RolledBack", "the kubelet did not become healthy"
		}, Verdict{Stopped, v1alpha1.ReasonRolledBack, "cp1 was returned to its former version: the kubelet did not become healthy. Fix the cause, then run `kubectl upgrade apply v1.34.4 --retry` in the workload cluster"}},
		{"up to date", upgraded, Verdict{Done, v1alpha1.ReasonUpToDate, "cp1 has v1.34.4"}},
		{"newer than asked for", all(upgraded, func(f *Facts) { f.Node.Status.NodeInfo.KubeletVersion = "v1.34.5" }), Verdict{Done, v1alpha1.ReasonUpToDate, "cp1 has v1.34.4"}},
		{"up to date, of no upgrade and not managed any more", all(upgraded, func(f *Facts) { f.NodeUpgrade.Spec, f.Upgrade = v1alpha1.NodeUpgradeSpec{}, nil }), Verdict{Done, v1alpha1.ReasonUpToDate, "cp1 has v1.34.4"}},
		{"its static pods are old", all(upgraded, func(f *Facts) { f.NodeUpgrade.Status.Versions.ControlPlane = "v1.34.3" }), Verdict{Next, v1alpha1.ReasonNotRequested, "cp1 waits for nothing but Cluster API"}},
		{"a worker has none", all(upgraded, func(f *Facts) { f.NodeUpgrade.Status.Versions.ControlPlane, f.ControlPlane = "", false }), Verdict{Done, v1alpha1.ReasonUpToDate, "cp1 has v1.34.4"}},
		{"the agent has not seen its kubelet yet", all(upgraded, func(f *Facts) { f.NodeUpgrade.Status.Versions.Kubelet = "v1.34.3" }), Verdict{Next, v1alpha1.ReasonNotRequested, "cp1 waits for nothing but Cluster API"}},
		{"still settling", all(upgraded, func(f *Facts) { f.NodeUpgrade.Status.Step = v1alpha1.StepSettling }), Verdict{AtWork, v1alpha1.ReasonReleased, "cp1 settles"}},
		{"holds its slot", all(upgraded, func(f *Facts) { f.NodeUpgrade.Status.Slot = "slot-0" }), Verdict{AtWork, v1alpha1.ReasonReleased, "cp1 frees its slot"}},
		{"not Ready", all(upgraded, func(f *Facts) { f.Node.Status.Conditions[0].Status = corev1.ConditionUnknown }), Verdict{Waits, v1alpha1.ReasonNodeNotReady, "cp1 waits: the node has v1.34.4 and is not Ready"}},
		{"cordoned by a person", all(upgraded, func(f *Facts) { f.Node.Spec.Unschedulable = true }), Verdict{Waits, v1alpha1.ReasonUpToDate, "cp1 waits: the node has v1.34.4 and is cordoned: uncordon it"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := facts()
			test.change(&f)
			if got := Of(f); got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestAble(t *testing.T) {
	f := facts()
	if got := Able("w1", f.NodeUpgrade); got != (Verdict{}) {
		t.Errorf("a node that can be upgraded: got %+v", got)
	}
	want := Verdict{Waits, v1alpha1.ReasonUnmanaged, "w1 is not known to kubectl-upgrade: install its agents in the workload cluster"}
	if got := Able("w1", nil); got != want {
		t.Errorf("a node without an agent: got %+v, want %+v", got, want)
	}
}
