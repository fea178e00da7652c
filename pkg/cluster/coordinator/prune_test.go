package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestRequestsThatNeverBeginEraseNoRecord lets 50 upgrades end that were never triggered, after three that were.
func TestRequestsThatNeverBeginEraseNoRecord(t *testing.T) {
	s := clusterstate.Snapshot{Policy: &v1alpha1.UpgradePolicy{}}
	for i := range 53 {
		at := metav1.NewTime(time.Date(2026, 11, 18, 12, i, 0, 0, time.UTC))
		r := v1alpha1.UpgradeRecord{Spec: v1alpha1.UpgradeRecordSpec{UpgradeSummary: v1alpha1.UpgradeSummary{Upgrade: v1alpha1.UpgradeReference{Name: fmt.Sprint(i), UID: fmt.Sprint(i)}, EndTime: at}}}
		if i < 3 {
			r.Spec.TriggerTime = &at
		}
		s.Records = append(s.Records, r)
	}
	history := slices.SortedFunc(maps.Values(endedUpgrades(s)), func(a, b *ended) int { return b.completed.Compare(a.completed) })
	old := beyond(history, 20)
	if len(old) != 30 {
		t.Errorf("%d are pruned, want 30", len(old))
	}
	for _, one := range old {
		if one.triggered {
			t.Errorf("the record of upgrade %s is pruned, which was triggered", one.records[0].Spec.Upgrade.Name)
		}
	}
	if old := beyond(history, 2); len(old) != 1+48 || old[len(old)-1].records[0].Spec.Upgrade.Name != "0" {
		t.Errorf("with a limit of 2, %d are pruned, want the oldest that was triggered and 48 others", len(old))
	}
}

// TestRollbacksEraseNoOtherRecord checks that as many Rollbacks as are kept leave the record of the newest upgrade, by
// which an automatic one that did not succeed is not created again.
func TestRollbacksEraseNoOtherRecord(t *testing.T) {
	s := clusterstate.Snapshot{Policy: &v1alpha1.UpgradePolicy{}}
	for i, kind := range []v1alpha1.UpgradeType{v1alpha1.TypeRollback, v1alpha1.TypeRollback, v1alpha1.TypePatch, v1alpha1.TypePatch, v1alpha1.TypePatch} {
		at := metav1.NewTime(time.Date(2026, 11, 18, 12, i, 0, 0, time.UTC))
		s.Records = append(s.Records, v1alpha1.UpgradeRecord{Spec: v1alpha1.UpgradeRecordSpec{UpgradeSummary: v1alpha1.UpgradeSummary{
			Upgrade: v1alpha1.UpgradeReference{Name: fmt.Sprint(i), UID: fmt.Sprint(i)}, Type: kind, TriggerTime: &at, EndTime: at,
		}}})
	}
	history := slices.SortedFunc(maps.Values(endedUpgrades(s)), func(a, b *ended) int { return b.completed.Compare(a.completed) })
	if old := beyond(history, 2); len(old) != 1 || old[0].records[0].Spec.Upgrade.Name != "2" {
		t.Errorf("%d are pruned, want only upgrade 2, the oldest Patch", len(old))
	}
}
