package plan_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestRecordSoFar checks that the record so far is the one that is written when the upgrade
// ends.
func TestRecordSoFar(t *testing.T) {
	s, at := finishedCluster(3, 8, 2), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	soFar := plan.RecordSoFar(s, "uid-the-upgrade", at)
	written := plan.Decide(s, at).Records[0].Spec.Nodes
	if len(soFar) != 3 || len(written) != 3 {
		t.Fatalf("got %d nodes and %d in the record, want 3", len(soFar), len(written))
	}
	for i := range soFar {
		if soFar[i].Name != written[i].Name || !soFar[i].StartTime.Equal(written[i].StartTime) || len(soFar[i].Steps) != len(written[i].Steps) {
			t.Errorf("got %+v, want %+v", soFar[i], written[i])
		}
	}
	if other := plan.RecordSoFar(s, "another", at); other != nil {
		t.Errorf("another upgrade has %v", other)
	}
}

// TestUsualDurations checks that only upgrades that ended before count, and not one that
// failed.
func TestUsualDurations(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	record := func(uid string, ended time.Time, outcome v1alpha1.Outcome, seconds int32) v1alpha1.UpgradeRecord {
		r := v1alpha1.UpgradeRecord{Spec: v1alpha1.UpgradeRecordSpec{Piece: 1, Pieces: 1}}
		r.Spec.Upgrade.UID, r.Spec.Outcome, r.Spec.EndTime = uid, outcome, metav1.Time{Time: ended}
		for _, name := range []string{"cp-1", "w-1", "w-2", "w-3"} {
			r.Spec.Nodes = append(r.Spec.Nodes, v1alpha1.NodeRecord{Name: name, RebootSeconds: seconds})
		}
		return r
	}
	s := clusterstate.Snapshot{
		Nodes: []clusterstate.Node{{Name: "cp-1", ControlPlane: true}, {Name: "w-1"}, {Name: "w-2"}, {Name: "w-3"}},
		Records: []v1alpha1.UpgradeRecord{
			record("before", at.Add(-time.Hour), v1alpha1.OutcomeSucceeded, 100),
			record("failed", at.Add(-time.Hour), v1alpha1.OutcomeFailed, 700),
			record("after", at.Add(time.Hour), v1alpha1.OutcomeSucceeded, 900),
		},
	}
	if got := plan.UsualDurations(s, at); got.Worker != 100*time.Second || got.Components != 3*time.Minute || got.Restart != time.Minute {
		t.Errorf("got %+v, want 100 s for a worker, and what is assumed for the rest", got)
	}
}
