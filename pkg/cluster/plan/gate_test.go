package plan_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// TestIgnoreWindowsEndsWithUpgrade checks that spec.windowPolicy Ignore does not apply to a node
// that joins after the upgrade has ended.
func TestIgnoreWindowsEndsWithUpgrade(t *testing.T) {
	now := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	u := &v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4", WindowPolicy: v1alpha1.WindowPolicyIgnore}}
	if hold := rules.Window(u, v1alpha1.TypePatch, nil, nil, now, 0); hold.Reason != "" {
		t.Errorf("while the upgrade runs the gate is closed: %s: %s", hold.Reason, hold.Message)
	}
	u.Status.Outcome = v1alpha1.OutcomeSucceeded
	if hold := rules.Window(u, v1alpha1.TypePatch, nil, nil, now, 0); hold.Reason != v1alpha1.ReasonWindowClosed {
		t.Errorf("after the upgrade ended: got %q: %s", hold.Reason, hold.Message)
	}
}

// TestGateDependsOnTypeForNode checks that an exclusion of minors holds a node that is a
// minor behind, although the upgrade is a patch for the others. Every exclusion holds an
// unknown type.
func TestGateDependsOnTypeForNode(t *testing.T) {
	now := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	u := &v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4", WindowPolicy: v1alpha1.WindowPolicyIgnore}}
	u.Status.Type = v1alpha1.TypePatch
	without := func(kind v1alpha1.UpgradeType) []v1alpha1.MaintenanceSchedule {
		s := v1alpha1.MaintenanceSchedule{}
		s.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{
			Period:       v1alpha1.Period{Name: "w", StartTime: metav1.NewTime(now.Add(-time.Hour)), EndTime: metav1.NewTime(now.Add(time.Hour))},
			UpgradeTypes: []v1alpha1.UpgradeType{kind},
		}}
		return []v1alpha1.MaintenanceSchedule{s}
	}
	for _, test := range []struct {
		kind, excluded v1alpha1.UpgradeType
		want           v1alpha1.Reason
	}{
		{v1alpha1.TypeMinor, v1alpha1.TypeMinor, v1alpha1.ReasonExcluded},
		{v1alpha1.TypeMinor, v1alpha1.TypePatch, ""},
		{v1alpha1.TypePatch, v1alpha1.TypeMinor, ""},
		{"", v1alpha1.TypePatch, v1alpha1.ReasonExcluded},
		{"", v1alpha1.TypeMinor, v1alpha1.ReasonExcluded},
	} {
		if hold := rules.Window(u, test.kind, without(test.excluded), nil, now, 0); hold.Reason != test.want {
			t.Errorf("type %q, %s excluded: got %q, want %q", test.kind, test.excluded, hold.Reason, test.want)
		}
	}
}
