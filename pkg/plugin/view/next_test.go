package view

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestAvailable checks which newer patch the screen names while no upgrade is active.
func TestAvailable(t *testing.T) {
	offered := func(version string, architectures ...v1alpha1.Architecture) (o v1alpha1.OfferedVersion) {
		o.Version = version
		for _, a := range architectures {
			o.Images = append(o.Images, v1alpha1.OfferedImage{Architecture: a})
		}
		return o
	}
	for name, row := range map[string]struct {
		change func(*clusterstate.Snapshot)
		want   string
	}{
		"the newest for all nodes": {func(*clusterstate.Snapshot) {}, "v1.34.6"},
		"one that is blocked": {func(s *clusterstate.Snapshot) {
			s.Policy.Spec.BlockedVersions = []v1alpha1.BlockedVersion{{Version: "v1.34.6", Comment: "slow"}}
		}, "v1.34.5"},
		"all run it": {func(s *clusterstate.Snapshot) { s.NodeUpgrades[0].Status.Versions.Kubelet = "v1.34.6" }, ""},
		"not known":  {func(s *clusterstate.Snapshot) { s.Policy.Status.Offered = nil }, ""},
		"no policy":  {func(s *clusterstate.Snapshot) { s.Policy = nil }, ""},
		"an upgrade is active": {func(s *clusterstate.Snapshot) {
			s.Upgrades = []v1alpha1.ClusterUpgrade{{ObjectMeta: metav1.ObjectMeta{Name: "u", UID: "u"}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.6"}}}
		}, ""},
		"a node without images": {func(s *clusterstate.Snapshot) {
			s.NodeUpgrades[0].Status.ImageProblem = &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage}
		}, ""},
	} {
		s := clusterstate.Snapshot{Policy: &v1alpha1.UpgradePolicy{}, Nodes: []clusterstate.Node{{Name: "w", Architecture: "amd64"}}, NodeUpgrades: make([]v1alpha1.NodeUpgrade, 1)}
		s.Policy.Name, s.NodeUpgrades[0].Name, s.NodeUpgrades[0].Status.Versions.Kubelet = v1alpha1.PolicyName, "w", "v1.34.4"
		s.Policy.Status.Offered = []v1alpha1.OfferedVersion{
			offered("v1.34.5", "amd64"), offered("v1.34.6", "amd64"), offered("v1.34.7", "arm64"), offered("v1.34.8-rc.1", "amd64"),
			offered("v1.35.0", "amd64"), offered("v1.34.4", "amd64"),
		}
		row.change(&s)
		if got := NewStatus(s, time.Now()).Available; got != row.want {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
	}
}

// TestNextOfBlockedVersion checks that what a person does next works for a version that people block, too.
func TestNextOfBlockedVersion(t *testing.T) {
	const retry, deletes = "`kubectl upgrade apply v1.34.6 --retry` starts again", "`kubectl delete clusterupgrade u`"
	const unblock = "`kubectl upgrade unblock v1.34.6`, and " + retry + "; or apply a newer version with --retry"
	ended := func(u *v1alpha1.ClusterUpgrade) {
		u.Status.Outcome, u.Status.EndTime = v1alpha1.OutcomeFailed, &metav1.Time{Time: time.Now()}
	}
	stalled := func(u *v1alpha1.ClusterUpgrade) {
		u.Status.TriggerTime = &metav1.Time{Time: time.Now()}
		u.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: string(v1alpha1.ReasonNodeFailed)},
			{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: string(v1alpha1.ReasonNodeFailed)},
		}
	}
	for name, row := range map[string]struct {
		state   func(*v1alpha1.ClusterUpgrade)
		blocked string
		want    string
	}{
		"stalled":            {stalled, "v1.34.7", "fix that, then " + retry},
		"stalled, blocked":   {stalled, "v1.34.6", "fix that, then " + unblock + ", or " + deletes},
		"has ended":          {ended, "v1.34.7", "once that is fixed, " + retry},
		"has ended, blocked": {ended, "v1.34.6", "once that is fixed, " + unblock},
	} {
		u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u", UID: "u"}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.6"}}
		row.state(&u)
		s := clusterstate.Snapshot{Policy: &v1alpha1.UpgradePolicy{}, Upgrades: []v1alpha1.ClusterUpgrade{u}}
		s.Policy.Spec.BlockedVersions = []v1alpha1.BlockedVersion{{Version: row.blocked, Comment: "slow"}}
		if got := NewStatus(s, time.Now()).AfterFailure(); !strings.HasSuffix(got, row.want) {
			t.Errorf("%s: got %q, want %q at the end", name, got, row.want)
		}
	}
}

// TestAgainOfCertificates checks that who renewed certificates in vain is told of the command that they have typed.
func TestAgainOfCertificates(t *testing.T) {
	if got := (Upgrade{Type: v1alpha1.TypeCertificates}).Again(); got != "the same `kubectl upgrade certificates renew` with --retry starts again" {
		t.Error(got)
	}
}

// TestProgressOfCertificates checks that a renewal of certificates shows control planes alone, also to who may not read
// Nodes.
func TestProgressOfCertificates(t *testing.T) {
	u := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u", UID: "u"}, Spec: v1alpha1.ClusterUpgradeSpec{Type: v1alpha1.TypeCertificates}}
	s := clusterstate.Snapshot{
		Nodes:        []clusterstate.Node{{Name: "cp1", ControlPlane: true}, {Name: "w1"}},
		NodeUpgrades: []v1alpha1.NodeUpgrade{{ObjectMeta: metav1.ObjectMeta{Name: "cp1"}}, {ObjectMeta: metav1.ObjectMeta{Name: "w1"}}},
	}
	for _, unread := range []bool{false, true} {
		if s.NodesUnread = unread; unread {
			s.Nodes, s.NodeUpgrades[0].Status.Versions.ControlPlane = nil, "v1.34.4"
		}
		if p := NewProgress(s, u, plan.Plan{}); len(p.Nodes) != 1 || p.Nodes[0].Name != "cp1" {
			t.Errorf("Nodes not read: %t: got %+v", unread, p.Nodes)
		}
	}
}
