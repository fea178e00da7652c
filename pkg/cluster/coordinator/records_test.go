package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// TestRecordIsWrittenBeforeOutcome checks that an upgrade whose record cannot be written
// does not end, and that one whose record already exists does, with that record unchanged.
func TestRecordIsWrittenBeforeOutcome(t *testing.T) {
	c := newWriter(t)
	defer c.deleteAll(t)
	u, err := c.ours.ClusterUpgrades.Create(t.Context(), &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "ends"}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	end := func(r v1alpha1.UpgradeRecord) (v1alpha1.Outcome, error) {
		t.Helper()
		status := v1alpha1.ClusterUpgradeStatus{Outcome: v1alpha1.OutcomeSucceeded, EndTime: &now}
		s := clusterstate.Snapshot{Policy: &v1alpha1.UpgradePolicy{}, State: &v1alpha1.CoordinatorState{}, Upgrades: []v1alpha1.ClusterUpgrade{*u}}
		s.Policy.Spec.HistoryLimit, s.Policy.Status.TimeZoneVersion = 20, schedule.ZoneVersion()
		p := plan.Plan{Records: []v1alpha1.UpgradeRecord{r}, Statuses: []plan.UpgradeStatus{{Name: u.Name, UID: string(u.UID), Status: status}}}
		err := c.carryOut(t.Context(), decision{policy: s.Policy, shown: s.Policy.Status, snapshot: s, plan: p})
		stored, readErr := c.ours.ClusterUpgrades.Get(t.Context(), u.Name, metav1.GetOptions{})
		if readErr != nil {
			t.Fatal(readErr)
		}
		return stored.Status.Outcome, err
	}
	wrong := recordOf("ends", string(u.UID), now.Time)
	wrong.Spec.Piece = 0
	if outcome, err := end(wrong); !apierrors.IsInvalid(err) || outcome != "" {
		t.Errorf("without its record the upgrade has outcome %q (%v), want none and an error", outcome, err)
	}
	right := recordOf("ends", string(u.UID), now.Time)
	if _, err := c.createRecords(t.Context(), []v1alpha1.UpgradeRecord{right}); err != nil {
		t.Fatal(err)
	}
	right.Spec.Nodes = []v1alpha1.NodeRecord{{Name: "other"}}
	if outcome, err := end(right); err != nil || outcome != v1alpha1.OutcomeSucceeded {
		t.Errorf("with its record the upgrade has outcome %q (%v), want Succeeded", outcome, err)
	}
	stored, err := c.ours.UpgradeRecords.Get(t.Context(), right.Name, metav1.GetOptions{})
	if err != nil || len(stored.Spec.Nodes) > 0 {
		t.Errorf("the record is %+v, %v", stored, err)
	}
	_, err = c.ours.UpgradeRecords.Patch(t.Context(), right.Name, types.MergePatchType, []byte(`{"spec":{"outcome":"Failed"}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "a record is never changed") {
		t.Errorf("changing a record: got error %v, want it refused", err)
	}
}

// TestPrune checks that records beyond historyLimit are deleted, oldest first, with all
// their pieces. Upgrades that people created stay, and so does the one by which nodes
// that join late are upgraded.
func TestPrune(t *testing.T) {
	c := newWriter(t)
	defer c.deleteAll(t)
	var s clusterstate.Snapshot
	s.Policy = &v1alpha1.UpgradePolicy{}
	s.Policy.Spec.HistoryLimit = 2
	begin := time.Now().Add(-time.Hour).Truncate(time.Second)
	add := func(name string, age int, by string) string {
		t.Helper()
		u := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"}}
		u.Annotations = map[string]string{v1alpha1.CreatedByAnnotation: by}
		u, err := c.ours.ClusterUpgrades.Create(t.Context(), u, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if completed := begin.Add(time.Duration(-age) * time.Minute); age > 0 {
			u.Status.Outcome, u.Status.EndTime = v1alpha1.OutcomeSucceeded, &metav1.Time{Time: completed}
			for piece := range int32(2) {
				r := recordOf(name, string(u.UID), completed)
				r.Name, r.Spec.Piece, r.Spec.Pieces = fmt.Sprintf("%s-%d", name, piece+1), piece+1, 2
				made, err := c.ours.UpgradeRecords.Create(t.Context(), &r, metav1.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				s.Records = append(s.Records, *made)
			}
		}
		s.Upgrades = append(s.Upgrades, *u)
		return string(u.UID)
	}
	// The ages are minutes. An upgrade without an age has not ended.
	add("oldest", 9, v1alpha1.CreatedByCoordinator)
	add("person", 8, "")
	followed := add("followed", 7, v1alpha1.CreatedByCoordinator)
	add("active", 0, v1alpha1.CreatedByCoordinator)
	add("newest", 1, v1alpha1.CreatedByCoordinator)
	add("newer", 2, "")
	s.Policy.Status.Upgrade = &v1alpha1.UpgradeReference{Name: "followed", UID: followed}
	for range 2 { // the second time they are already deleted
		if err := c.prune(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	upgrades, records := c.names(t)
	if want := []string{"active", "followed", "newer", "newest", "person"}; !slices.Equal(upgrades, want) {
		t.Errorf("upgrades left are %v, want %v", upgrades, want)
	}
	if want := []string{"newer-1", "newer-2", "newest-1", "newest-2"}; !slices.Equal(records, want) {
		t.Errorf("records left are %v, want %v", records, want)
	}
}

func recordOf(upgrade, uid string, completed time.Time) v1alpha1.UpgradeRecord {
	r := v1alpha1.UpgradeRecord{ObjectMeta: metav1.ObjectMeta{Name: upgrade + "-1"}, Spec: v1alpha1.UpgradeRecordSpec{Piece: 1, Pieces: 1}}
	r.Spec.Upgrade, r.Spec.Outcome = v1alpha1.UpgradeReference{Name: upgrade, UID: uid}, v1alpha1.OutcomeSucceeded
	r.Spec.EndTime = metav1.NewTime(completed)
	return r
}

func (c *Coordinator) names(t *testing.T) (upgrades, records []string) {
	t.Helper()
	us, err := c.ours.ClusterUpgrades.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range us.Items {
		upgrades = append(upgrades, u.Name)
	}
	rs, err := c.ours.UpgradeRecords.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs.Items {
		records = append(records, r.Name)
	}
	return upgrades, records
}

func (c *Coordinator) deleteAll(t *testing.T) {
	upgrades, records := c.names(t)
	for _, name := range upgrades {
		if err := c.ours.ClusterUpgrades.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	for _, name := range records {
		if err := c.ours.UpgradeRecords.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
}
