package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// TestTakenBackByRecords reads from records what a policy that was deleted had in its status.
func TestTakenBackByRecords(t *testing.T) {
	at := func(hour int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 11, 18, hour, 0, 0, 0, time.UTC)}
	}
	record := func(hour int, kind v1alpha1.UpgradeType, from, to string, nodes ...string) v1alpha1.UpgradeRecord {
		r := v1alpha1.UpgradeRecord{Spec: v1alpha1.UpgradeRecordSpec{UpgradeSummary: v1alpha1.UpgradeSummary{
			Upgrade: v1alpha1.UpgradeReference{Name: to}, Type: kind, FromVersion: from, Version: to, TriggerTime: at(hour), EndTime: *at(hour + 1), Comment: "breaks",
		}}}
		for _, from := range nodes {
			r.Spec.Nodes = append(r.Spec.Nodes, v1alpha1.NodeRecord{From: from})
		}
		return r
	}
	back := record(3, v1alpha1.TypeRollback, "v1.34.5", "v1.34.3", "v1.34.5", "v1.34.4", "v1.34.3")
	never := record(6, v1alpha1.TypeRollback, "", "v1.33.1", "v1.33.2")
	never.Spec.TriggerTime = nil
	again := record(5, v1alpha1.TypePatch, "v1.34.3", "v1.34.5")
	again.Spec.IgnoreChecks = []v1alpha1.IgnoredCheck{{ID: preflight.VersionBlocked}}
	before := again
	before.Spec.TriggerTime, before.Spec.EndTime = at(1), *at(2)
	for name, one := range map[string]struct {
		records []v1alpha1.UpgradeRecord
		want    []string
	}{
		"none":                    {nil, nil},
		"a patch":                 {[]v1alpha1.UpgradeRecord{record(1, v1alpha1.TypePatch, "v1.34.3", "v1.34.5")}, nil},
		"a Rollback":              {[]v1alpha1.UpgradeRecord{never, back}, []string{"v1.34.4", "v1.34.5"}},
		"that was requested then": {[]v1alpha1.UpgradeRecord{again, back}, []string{"v1.34.4"}},
		"and requested before":    {[]v1alpha1.UpgradeRecord{back, before}, []string{"v1.34.4", "v1.34.5"}},
	} {
		var got []string
		for _, taken := range plan.TakenBackByRecords(one.records) {
			got = append(got, taken.Version)
			if taken.Upgrade.Name != "v1.34.3" || taken.Comment != "breaks" || !taken.Time.Equal(at(3)) {
				t.Errorf("%s: %+v", name, taken)
			}
		}
		if diff := cmp.Diff(one.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
