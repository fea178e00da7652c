package metrics_test

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metrics"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func at(before time.Duration) metav1.Time           { return metav1.NewTime(now.Add(-before)) }
func pointAt(before time.Duration) *metav1.Time     { return ptr.To(at(before)) }
func microAt(before time.Duration) metav1.MicroTime { return metav1.NewMicroTime(now.Add(-before)) }

// stateOf returns the state of a cluster with that many nodes in the middle of a patch, with
// something wrong of each kind.
func stateOf(size int) metrics.State {
	var s clusterstate.Snapshot
	upgrade := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "v1.34.4", UID: "u1", CreationTimestamp: at(72 * time.Hour)}}
	upgrade.Spec.Version = "v1.34.4"
	upgrade.Status.Type, upgrade.Status.FromVersion = v1alpha1.TypePatch, "v1.34.3"
	upgrade.Status.TriggerTime = pointAt(48 * time.Hour)
	upgrade.Status.Images = []v1alpha1.Image{{Architecture: "amd64", URL: "https://images.example/x", Digest: "sha256:0"}}
	upgrade.Status.PreflightTime = ptr.To(microAt(time.Minute))
	s.Upgrades = []v1alpha1.ClusterUpgrade{upgrade}
	for i := range size {
		s.Nodes = append(s.Nodes, clusterstate.Node{
			Name: fmt.Sprintf("worker-%05d.nodes.example.com", i), UID: fmt.Sprint("node-", i), OS: "linux", Architecture: "amd64", Ready: true, Kubelet: "v1.34.3",
			Labels: map[string]string{"topology.kubernetes.io/zone": fmt.Sprint("z", i%3)},
		})
		s.NodeUpgrades = append(s.NodeUpgrades, nodeUpgrade(&s.Nodes[i], upgrade.Reference()))
	}
	for i := range s.Nodes {
		s.Inventories = append(s.Inventories, v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: s.Nodes[i].Name}, NodeFacts: v1alpha1.NodeFacts{Certificates: []v1alpha1.CertificateFacts{
			{Path: "/var/lib/kubelet/pki/kubelet-client-current.pem", NotAfter: at(-365 * 24 * time.Hour), RenewedBy: v1alpha1.RenewedByKubelet},
			{Path: "/var/lib/kubelet/pki/kubelet.crt", NotAfter: at(-365 * 24 * time.Hour), RenewedBy: v1alpha1.RenewedByNone, KubeletServing: true},
		}}})
	}
	s.Inventories[0].Certificates[0].NotAfter, s.Inventories[0].Certificates[1].InUse = at(-24*time.Hour), v1alpha1.UsesFormer
	drains(&s, 0)
	s.Nodes[1].Kubelet = "v1.34.4"
	s.NodeUpgrades[2].Status.Step = v1alpha1.StepFailed
	s.NodeUpgrades[3].Generation = 5
	s.Slots = []clusterstate.Slot{{Name: "slot-0", Holder: s.Nodes[0].Owner(), ReservedFor: s.Nodes[0].Owner()}, {Name: "slot-1", ReservedFor: s.Nodes[4].Owner()}, {Name: "slot-2"}}
	night := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: "nights"}}
	night.Spec.TimeZone = "UTC"
	night.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Period: v1alpha1.Period{
		Name: "night", StartTime: metav1.NewTime(now.Add(-20*24*time.Hour - 10*time.Hour)), EndTime: metav1.NewTime(now.Add(-20*24*time.Hour - 7*time.Hour)), Recurrence: "FREQ=DAILY",
	}}}
	s.Schedules = []v1alpha1.MaintenanceSchedule{night}
	s.Records = []v1alpha1.UpgradeRecord{{Spec: v1alpha1.UpgradeRecordSpec{UpgradeSummary: v1alpha1.UpgradeSummary{Type: v1alpha1.TypePatch, Outcome: v1alpha1.OutcomeSucceeded, EndTime: at(700 * time.Hour)}}}}
	s.Policy = &v1alpha1.UpgradePolicy{}
	s.Policy.Spec.Mode, s.Policy.Spec.Automatic = v1alpha1.ModeManage, []v1alpha1.AutomaticUpgrade{{Type: v1alpha1.TypePatch}}
	s.Policy.Status.Offered = []v1alpha1.OfferedVersion{{Version: "v1.34.4", FirstSeenTime: at(80 * time.Hour)}}
	s.Policy.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionSourceReady, Status: metav1.ConditionFalse, Reason: "SourceUnavailable", LastTransitionTime: at(2 * time.Hour)},
		{Type: v1alpha1.ConditionWriteFailed, Status: metav1.ConditionTrue},
	}
	s.Policy.Spec.Gates = []v1alpha1.Gate{{Name: "alerts"}, {Name: "new"}}
	s.Policy.Status.Gates = []v1alpha1.GateStatus{{Name: "alerts", State: v1alpha1.GateClosed, SinceTime: at(time.Minute)}, {Name: "taken-away", State: v1alpha1.GateOpen}}
	digests := []v1alpha1.ImageDigest{{Architecture: "amd64", Digest: v1alpha1.DigestOf(strings.Repeat("1", 64))}}
	s.Policy.Status.Ran = []v1alpha1.RanVersion{
		{Version: "v1.34.3", Digests: digests, SinceTime: ptr.To(at(90 * time.Hour))},
		{Version: "v1.34.2", Digests: digests, SinceTime: ptr.To(at(200 * time.Hour)), UntilTime: ptr.To(at(100 * time.Hour))},
		{Version: "v1.34.1", Digests: digests, SinceTime: ptr.To(at(300 * time.Hour)), Problem: "node w1 failed"},
		{Version: "v1.34.0", Digests: digests, SinceTime: ptr.To(at(300 * time.Hour)), Blocked: "broken"},
		{Version: "v1.33.9", Digests: digests, SinceTime: ptr.To(at(300 * time.Hour)), Behind: 1},
		{Version: "v1.34.4", Digests: digests},
	}
	s.Source = clusterstate.Source{Offers: []clusterstate.Offer{{Version: "v1.34.4", Image: v1alpha1.Image{Architecture: "amd64"}}}}
	p := plan.Decide(s, now)
	p.Findings = []v1alpha1.Finding{{ID: "disk-space", Level: v1alpha1.LevelBlock, Message: "x"}, {ID: "disk-space", Level: v1alpha1.LevelBlock, Message: "y"}, {ID: "capi", Level: v1alpha1.LevelWarn}, {ID: "fluo", Level: v1alpha1.LevelBlock, Ignored: true}}
	return metrics.State{Snapshot: s, Plan: p, Agents: func() (int, int) { return size, size - 1 }}
}

// nodeUpgrade returns the NodeUpgrade of a node that waits.
func nodeUpgrade(n *clusterstate.Node, upgrade v1alpha1.UpgradeReference) v1alpha1.NodeUpgrade {
	u := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{
		Name: n.Name, UID: types.UID("upgrade-" + n.UID), Generation: 4,
		OwnerReferences: []metav1.OwnerReference{{Kind: "Node", UID: types.UID(n.UID)}},
	}}
	u.Spec.Upgrade, u.Spec.Version = &upgrade, "v1.34.4"
	u.Status = v1alpha1.NodeUpgradeStatus{
		ObservedGeneration: 4, Step: v1alpha1.StepWaiting, StepStartTime: pointAt(time.Hour),
		Versions:   v1alpha1.NodeVersions{Kubelet: "v1.34.3", Staged: "v1.34.4"},
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: string(v1alpha1.ReasonAwaitingRelease)}},
	}
	return u
}

// drains makes a node one that is being upgraded and whose drain is blocked.
func drains(s *clusterstate.Snapshot, i int) {
	u := &s.NodeUpgrades[i]
	s.Nodes[i].SlotAnnotation = "slot-0"
	u.Spec.Release, u.Spec.Slot, u.Spec.ExpectedSeconds = v1alpha1.ReleaseNode, "slot-0", ptr.To[int32](600)
	u.Status.Upgrade, u.Status.Slot = u.Spec.Upgrade, "slot-0"
	u.Status.Step, u.Status.StepStartTime = v1alpha1.StepDraining, pointAt(20*time.Minute)
	u.Status.Steps = []v1alpha1.StepTime{
		{Step: v1alpha1.StepStaging, StartTime: microAt(time.Hour), EndTime: ptr.To(microAt(59 * time.Minute))},
		{Step: v1alpha1.StepLocking, StartTime: microAt(21 * time.Minute), EndTime: ptr.To(microAt(20 * time.Minute))},
		{Step: v1alpha1.StepDraining, StartTime: microAt(20 * time.Minute)},
	}
	u.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: string(v1alpha1.ReasonDrainBlocked),
		Message: "2 pods remain; cannot be evicted now: shop/web-0: The disruption budget web needs 2 healthy pods and has 2 currently",
	}}
}
