package fleet

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestWords checks that a row says in people's words what its reason says: with names of contexts, and without those of gates
// and addresses.
func TestWords(t *testing.T) {
	at := func(context string) Cluster {
		return Cluster{Context: context, to: Context{Server: "https://" + context + ":6443"}.normal()}
	}
	row := func(context string, s clusterstate.Snapshot) Row {
		return NewRow(Answer{Cluster: at(context), Snapshot: &s, At: now, UID: context}, now)
	}
	since := metav1.NewTime(now.Add(-24 * time.Hour))
	well := base()
	rolledBack := asked(base(), v1alpha1.ReasonNodeFailed, true)
	rolledBack.Upgrades[0].Spec.Version = "v1.34.5"
	rolledBack.NodeUpgrades[0].Status.Step = v1alpha1.StepRolledBack
	rolledBack.NodeUpgrades[0].Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: string(v1alpha1.ReasonRolledBack),
		Message: "v1.34.5 did not become healthy, and the guard returned the node to v1.34.4: the kubelet is not healthy",
	}}
	notice := asked(base(), v1alpha1.ReasonWindowClosed, false)
	notice.Policy.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionNoticesFailed, Status: metav1.ConditionTrue, Reason: "SecretForbidden", Message: "notice chat: may not be read"}}
	lacks := base()
	lacks.Policy.Status.Offered = []v1alpha1.OfferedVersion{{Version: "v1.34.4", FirstSeenTime: metav1.NewTime(now.Add(-48 * time.Hour))}}
	freeze := func(s clusterstate.Snapshot) clusterstate.Snapshot {
		s.Schedules = append(s.Schedules, timetable("audit", "maintenanceExclusions: [{name: x, startTime: 2026-11-26T00:00:00Z, endTime: 2026-11-30T00:00:00Z, comment: the audit}]"))
		return s
	}
	for name, test := range map[string]struct {
		leader, follower clusterstate.Snapshot
		want             []string // of the leader, and of the follower
		next             string
	}{
		"the leader failed": {rolledBack, following(v1alpha1.RanVersion{Problem: "node w1 failed"}), []string{
			"FAILED: w1 was rolled back to v1.34.4: the kubelet is not healthy", "follows: staging, which failed with v1.34.5"},
			"1 of 2 clusters needs a person: kubectl upgrade status --context staging"},
		"the leader was mended": {well, following(v1alpha1.RanVersion{Problem: "node w1 failed"}), []string{
			"idle: ", "FOLLOWS: staging, which has a problem with v1.34.4: node w1 failed"}, "1 of 2 clusters needs a person: kubectl upgrade status --context prod"},
		"one is frozen": {freeze(base()), well, []string{"frozen: exclusion audit/x holds until 2026-11-30 00:00 UTC: the audit", "idle: "}, ": "},
		"it soaks, and is frozen": {well, freeze(following(v1alpha1.RanVersion{SinceTime: &since})), []string{
			"idle: ", "frozen: exclusion audit/x holds until 2026-11-30 00:00 UTC: the audit"}, ": "},
		"the leader failed, and the follower is frozen": {rolledBack, freeze(following(v1alpha1.RanVersion{Problem: "node w1 failed"})), []string{
			"FAILED: w1 was rolled back to v1.34.4: the kubelet is not healthy", "frozen: exclusion audit/x holds until 2026-11-30 00:00 UTC: the audit"},
			"1 of 2 clusters needs a person: kubectl upgrade status --context staging"},
		"the leader was mended, and the follower is frozen": {well, freeze(following(v1alpha1.RanVersion{Problem: "node w1 failed"})), []string{
			"idle: ", "FOLLOWS: staging, which has a problem with v1.34.4: node w1 failed"}, "1 of 2 clusters needs a person: kubectl upgrade status --context prod"},
		"it soaks":              {well, following(v1alpha1.RanVersion{SinceTime: &since}), []string{"idle: ", "follows: staging until Dec 2 12:00"}, ": "},
		"it has not come there": {lacks, following(v1alpha1.RanVersion{}), []string{"idle: lacks v1.34.4 since Nov 24 12:00", "follows: staging"}, ": "},
		"something aside, and a check": {notice, asked(base(), v1alpha1.ReasonPreflight, true), []string{
			"WAITS: message of WindowClosed; also SecretForbidden: notice chat: may not be read", "WAITS: message of Preflight"},
			"2 of 2 clusters need a person: kubectl upgrade fleet status staging prod"},
	} {
		status := NewStatus([]Row{row("staging", test.leader), row("prod", test.follower)})
		for i, want := range test.want {
			state, sentence := status.Items[i].Words(func(t time.Time) string { return t.Format("Jan 2 15:04") })
			if got := state + ": " + sentence; got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		sentence, command := status.Attention()
		if got := sentence + ": " + command; got != test.next {
			t.Errorf("%s: got %q, want %q", name, got, test.next)
		}
	}
}

// TestFollowersBehind checks that a cluster counts that gets by itself what the one that it follows runs, and no other.
func TestFollowersBehind(t *testing.T) {
	since := metav1.NewTime(now.Add(-24 * time.Hour))
	running := func(version string) clusterstate.Snapshot {
		s := base()
		s.Nodes[0].Kubelet, s.NodeUpgrades[0].Status.Versions.Kubelet = version, version
		return s
	}
	follower := func(ran v1alpha1.RanVersion, automatic ...v1alpha1.AutomaticUpgrade) clusterstate.Snapshot {
		s := following(ran)
		s.Policy.Spec.Automatic = automatic
		return s
	}
	patches := v1alpha1.AutomaticUpgrade{Type: v1alpha1.TypePatch}
	for name, test := range map[string]struct {
		leader, follower clusterstate.Snapshot
		want             bool
	}{
		"it soaks":               {running("v1.34.4"), follower(v1alpha1.RanVersion{SinceTime: &since}, patches), true},
		"a person asks for them": {running("v1.34.4"), follower(v1alpha1.RanVersion{SinceTime: &since}), false},
		"the leader has nothing": {running("v1.34.3"), follower(v1alpha1.RanVersion{}, patches), false},
		"the leader failed":      {running("v1.34.4"), follower(v1alpha1.RanVersion{Problem: "node w1 failed"}, patches), false},
	} {
		var rows []Row
		for context, s := range map[string]clusterstate.Snapshot{"staging": test.leader, "prod": test.follower} {
			at := Cluster{Context: context, to: Context{Server: "https://" + context + ":6443"}.normal()}
			rows = append(rows, NewRow(Answer{Cluster: at, Snapshot: &s, At: now, UID: context}, now))
		}
		status := NewStatus(rows)
		if got := status.FollowersBehind(); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}
