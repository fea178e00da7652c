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

// TestRecordsAreBoundedByBytes checks that the records of large clusters do not fill etcd, that those of small ones are kept up to
// the limit, and that the newest of each kind stays.
func TestRecordsAreBoundedByBytes(t *testing.T) {
	steps := make([]v1alpha1.StepTime, 12)
	for _, test := range []struct{ nodes, kept int }{{5, 20}, {500, 20}, {5000, 13}, {50_000, 2}} {
		var history []*ended
		for i := range 30 {
			r := v1alpha1.UpgradeRecord{Spec: v1alpha1.UpgradeRecordSpec{UpgradeSummary: v1alpha1.UpgradeSummary{Upgrade: v1alpha1.UpgradeReference{Name: fmt.Sprint(i)}}}}
			if i == 29 {
				r.Spec.Type = v1alpha1.TypeRollback
			}
			r.Spec.Nodes = slices.Repeat([]v1alpha1.NodeRecord{{Name: "worker-0001", From: "v1.34.3", To: "v1.34.4", Steps: steps}}, test.nodes)
			history = append(history, &ended{records: []v1alpha1.UpgradeRecord{r}, triggered: true})
		}
		old := beyond(history, 20)
		if kept := 30 - len(old); kept != test.kept+1 && test.kept > 2 || test.kept == 2 && kept != 2 {
			t.Errorf("of %d nodes, the records of %d upgrades are kept, want %d and the Rollback", test.nodes, kept, test.kept)
		}
		if slices.ContainsFunc(old, func(e *ended) bool { name := e.records[0].Spec.Upgrade.Name; return name == "0" || name == "29" }) {
			t.Errorf("of %d nodes, the newest record of a kind is pruned", test.nodes)
		}
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
