package upgradesample

import (
	"crypto/sha256"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// The versions before and after the upgrade, which is named after the latter.
const (
	Before = "v1.34.8"
	Name   = "v1.35.4"
)

const uid types.UID = "6f1c2f0e-5d0b-4f6e-9a55-0b6f1d7e2c11"

// world is a cluster with the story of its upgrade.
type world struct {
	upgrade   v1alpha1.ClusterUpgrade
	schedules []v1alpha1.MaintenanceSchedule
	records   []v1alpha1.UpgradeRecord
	nodes     []*node
	ends      time.Time
}

// at returns the cluster as it was at an instant.
func (w *world) at(now time.Time) clusterstate.Snapshot {
	u := w.upgrade.DeepCopy()
	reference := u.Reference()
	s := clusterstate.Snapshot{
		Upgrades: []v1alpha1.ClusterUpgrade{*u}, Schedules: w.schedules, Records: w.records,
		Policy: &v1alpha1.UpgradePolicy{
			ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName},
			Spec:       v1alpha1.UpgradePolicySpec{Mode: v1alpha1.ModeManage},
		},
		Preflight: &clusterstate.Preflight{Upgrade: reference, At: u.Status.PreflightTime.Time, Findings: u.Status.Findings},
	}
	for _, image := range u.Status.Images {
		s.Source.Offers = append(s.Source.Offers, clusterstate.Offer{Version: Name, Image: image})
	}
	for _, n := range w.nodes {
		w.addNode(&s, n, now, reference)
	}
	s.Preflight.Key = plan.Decide(s, now).PreflightKey
	decided := plan.Decide(s, now)
	s.Upgrades[0].Status, s.Records = decided.Statuses[0].Status, append(s.Records, decided.Records...)
	status := &s.Upgrades[0].Status
	status.Findings, status.PreflightTime, status.EtcdSnapshot = u.Status.Findings, u.Status.PreflightTime, u.Status.EtcdSnapshot
	for _, p := range decided.Nodes {
		release(&s, p, now)
	}
	return s
}

// addNode adds a node with what its agent reports.
func (w *world) addNode(s *clusterstate.Snapshot, n *node, now time.Time, upgrade v1alpha1.UpgradeReference) {
	steps, isControlPlane := n.at(now), n.pool == plan.ControlPlaneGroup
	have, runs, attempts := Before, Before, int32(0)
	step, since := v1alpha1.StepIdle, n.done
	if last := len(steps) - 1; last >= 0 && steps[last].EndTime == nil {
		step, since = steps[last].Step, steps[last].StartTime.Time
	}
	for _, one := range steps {
		switch one.Step {
		case v1alpha1.StepVerifying:
			have = Name
		case v1alpha1.StepChecking:
			runs = Name
		case v1alpha1.StepCordoning:
			attempts++
		}
	}
	s.Nodes = append(s.Nodes, clusterstate.Node{
		Name: n.name, UID: "node-" + n.name, Labels: map[string]string{"pool": n.pool}, ControlPlane: isControlPlane,
		OS: "linux", Architecture: "amd64", Ready: step != v1alpha1.StepRebooting, Kubelet: have,
	})
	u := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: n.name, Generation: 2}}
	u.Spec = v1alpha1.NodeUpgradeSpec{Managed: true, Upgrade: &upgrade, Version: Name}
	u.Status = v1alpha1.NodeUpgradeStatus{
		ObservedGeneration: 2, Upgrade: &upgrade, Step: step, StepStartTime: &metav1.Time{Time: since}, Steps: steps,
		Versions: v1alpha1.NodeVersions{Kubelet: have, Kubeadm: runs, Staged: Name, Pulled: Name, From: Before},
		Retry:    v1alpha1.Retry{Attempts: attempts},
	}
	if isControlPlane {
		u.Status.Versions.ControlPlane = runs
		s.APIServers = append(s.APIServers, clusterstate.StaticPod{Node: n.name, Version: runs, Ready: true})
		s.Etcd = append(s.Etcd, clusterstate.StaticPod{Node: n.name, Ready: true})
		if snapshot := w.upgrade.Status.EtcdSnapshot; snapshot != nil && snapshot.Node == n.name {
			u.Status.EtcdSnapshot = snapshot
		}
	}
	if phase := step.Info().Phase; phase == v1alpha1.PhaseRevocable || phase == v1alpha1.PhaseCommitted {
		u.Spec.Release, u.Spec.Slot, u.Status.Slot = v1alpha1.ReleaseNode, "slot-0", "slot-0"
		owner := clusterstate.Owner{Node: n.name, UID: "node-" + n.name}
		s.Slots = append(s.Slots, clusterstate.Slot{Name: "slot-0", ReservedFor: owner, Holder: owner})
	}
	reason, message := v1alpha1.ReasonAwaitingRelease, "the node "+step.Info().Doing
	if step == v1alpha1.StepDraining {
		reason, message = v1alpha1.ReasonDrainBlocked, "shop/cart-7d9c6b5f4-x2lqv cannot be evicted: the PodDisruptionBudget cart allows no disruption"
	}
	meta.SetStatusCondition(&u.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: string(reason), Message: message, LastTransitionTime: metav1.Time{Time: now},
	})
	s.NodeUpgrades = append(s.NodeUpgrades, u)
}

// release writes the condition Admitted, as the coordinator does.
func release(s *clusterstate.Snapshot, p plan.NodePlan, now time.Time) {
	for i := range s.NodeUpgrades {
		u := &s.NodeUpgrades[i]
		present, admitted := p.Admission()
		if u.Name != p.Name || !present || admitted {
			continue
		}
		meta.SetStatusCondition(&u.Status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionAdmitted, Status: metav1.ConditionFalse, Reason: string(p.Reason), Message: p.Message, LastTransitionTime: metav1.Time{Time: now},
		})
		if p.Until != nil {
			u.Status.HoldEndTime = &metav1.Time{Time: *p.Until}
		}
	}
}

// newUpgrade returns the upgrade as it was requested and triggered.
func newUpgrade(requested time.Time) v1alpha1.ClusterUpgrade {
	u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{
		Name: Name, UID: uid, Generation: 1, CreationTimestamp: metav1.Time{Time: requested},
		Annotations: map[string]string{v1alpha1.RequestedByAnnotation: "anna@example.com"},
	}}
	u.Spec.Version = Name
	u.Status = v1alpha1.ClusterUpgradeStatus{
		Type: v1alpha1.TypeMinor, FromVersion: Before,
		TriggerTime:   &metav1.Time{Time: requested.Add(4 * time.Second)},
		PreflightTime: ptr.To(metav1.NewMicroTime(requested.Add(3 * time.Second))),
	}
	for _, arch := range [][2]string{{"amd64", "x86-64"}, {"arm64", "arm64"}} {
		u.Status.Images = append(u.Status.Images, v1alpha1.Image{
			Architecture: v1alpha1.Architecture(arch[0]), URL: fmt.Sprintf("https://extensions.flatcar.org/extensions/kubernetes/kubernetes-%s-%s.raw", Name, arch[1]),
			Digest: v1alpha1.DigestOf(fmt.Sprintf("%x", sha256.Sum256([]byte(arch[1])))),
		})
	}
	return u
}

// earlier returns the record of an upgrade before, from which the planner has its durations.
func earlier(ended time.Time, nodes []*node) v1alpha1.UpgradeRecord {
	r := v1alpha1.UpgradeRecord{ObjectMeta: metav1.ObjectMeta{Name: Before + "-0a1b2c3d-1"}, Spec: v1alpha1.UpgradeRecordSpec{Piece: 1, Pieces: 1}}
	r.Spec.UpgradeSummary = v1alpha1.UpgradeSummary{
		Upgrade: v1alpha1.UpgradeReference{Name: Before, UID: "0a1b2c3d-0000-4000-8000-000000000000"}, Type: v1alpha1.TypePatch,
		FromVersion: "v1.34.7", Version: Before, Outcome: v1alpha1.OutcomeSucceeded, EndTime: metav1.Time{Time: ended},
	}
	for i, n := range nodes[:min(len(nodes), 500)] {
		one := v1alpha1.NodeRecord{Name: n.name, From: "v1.34.7", To: Before, RebootSeconds: int32(170 + 7*(i%5))} //nolint:gosec // small
		if n.pool == plan.ControlPlaneGroup {
			one.ComponentsSeconds = int32(120 + 5*i) //nolint:gosec // small
		}
		r.Spec.Nodes = append(r.Spec.Nodes, one)
	}
	return r
}
