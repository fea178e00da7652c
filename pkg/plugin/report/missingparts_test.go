package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/upgradesample"
)

// changed returns the report of the example after a change.
func changed(t *testing.T, change func(*clusterstate.Snapshot)) *report.Report {
	t.Helper()
	s, at := upgradesample.Example()
	change(&s)
	r, err := report.New(s, upgradesample.Name, at)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func hasNote(r *report.Report, words string) bool {
	return slices.ContainsFunc(r.Notes, func(note string) bool { return strings.Contains(note, words) })
}

// TestMissing checks that a report is made from what there is, and says what is missing.
func TestMissing(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*clusterstate.Snapshot)
		note   string
		nodes  int
	}{
		"the ClusterUpgrade": {func(s *clusterstate.Snapshot) { s.Upgrades = nil }, "ClusterUpgrade v1.35.4 was deleted", 11},
		"the record":         {func(s *clusterstate.Snapshot) { s.Records = s.Records[:1] }, "no record of the nodes", 0},
		"a piece":            {func(s *clusterstate.Snapshot) { s.Records[1].Spec.Pieces = 2 }, "1 of its 2 objects", 11},
		"the Nodes":          {func(s *clusterstate.Snapshot) { s.Nodes = nil }, "schedules that existed", 11},
		"who asked": {func(s *clusterstate.Snapshot) {
			s.Upgrades[0].Annotations = nil
		}, "Who requested the upgrade is not known", 11},
		"a valid schedule": {func(s *clusterstate.Snapshot) { s.Schedules[0].Spec.TimeZone = "Mars" }, "a schedule is invalid now", 11},
		"another upgrade of that name": {func(s *clusterstate.Snapshot) {
			old := s.Records[1]
			old.Spec.Upgrade.UID = "older"
			s.Records = append(s.Records, old)
		}, "1 earlier upgrades with this name", 11},
	} {
		t.Run(name, func(t *testing.T) {
			r := changed(t, row.change)
			if !hasNote(r, row.note) || len(r.Nodes) != row.nodes || r.Upgrade.Outcome != v1alpha1.OutcomeSucceeded {
				t.Errorf("got %d nodes, outcome %s and the notes %q", len(r.Nodes), r.Upgrade.Outcome, r.Notes)
			}
		})
	}
	s, at := upgradesample.Example()
	if _, err := report.New(s, "v9", at); err == nil {
		t.Error("there is a report of an upgrade that does not exist")
	}
}

// TestNewest checks that of several deleted upgrades with the same name the newest is meant.
func TestNewest(t *testing.T) {
	r := changed(t, func(s *clusterstate.Snapshot) {
		s.Upgrades = nil
		old := s.Records[1]
		old.Spec.Upgrade.UID, old.Spec.EndTime = "older", metav1.Time{Time: old.Spec.EndTime.AddDate(0, -1, 0)}
		s.Records = append([]v1alpha1.UpgradeRecord{old}, s.Records...)
	})
	if r.Upgrade.UID == "older" || !hasNote(r, "1 earlier") {
		t.Errorf("got %s, notes %q", r.Upgrade.UID, r.Notes)
	}
}

// TestWaits checks what a wait is ascribed to.
func TestWaits(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 14, 1, minute, 0, 0, time.UTC) }
	step := func(step v1alpha1.Step, from, to int) v1alpha1.StepTime {
		end := metav1.NewMicroTime(at(to))
		return v1alpha1.StepTime{Step: step, StartTime: metav1.NewMicroTime(at(from)), EndTime: &end}
	}
	s, now := upgradesample.Example()
	s.Schedules = s.Schedules[:1] // open from minute 0 of that hour, until 4:00 UTC
	record := &s.Records[1]
	record.Spec.Nodes = []v1alpha1.NodeRecord{
		{Name: "web-1", Steps: []v1alpha1.StepTime{step(v1alpha1.StepLocking, 1, 5), step(v1alpha1.StepFailed, 5, 20)}, Reason: v1alpha1.ReasonRebootFailed},
		{Name: "web-2", Steps: []v1alpha1.StepTime{step(v1alpha1.StepWaiting, -70, 40)}},
		{Name: "web-3", Steps: []v1alpha1.StepTime{step(v1alpha1.StepWaiting, 170, 179)}},
		{Name: "web-4", Steps: []v1alpha1.StepTime{{Step: v1alpha1.StepWaiting, StartTime: metav1.NewMicroTime(at(0).Add(30 * time.Second)), EndTime: &metav1.MicroTime{Time: at(1)}}}},
	}
	r, err := report.New(s, upgradesample.Name, now)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"web-1": "",
		"web-2": "WindowClosed 10m0s, Unknown 1h1m0s, NotItsTurn 4m0s, NodeFailed 15m0s, Unknown 20m0s",
		"web-3": "Unknown 4m49s, InsufficientTime 4m11s",
		"web-4": "",
	}
	for _, n := range r.Nodes {
		var got []string
		for _, w := range n.Waits {
			got = append(got, report.Unknown(w.Reason)+" "+w.End.Sub(w.Start).String())
		}
		if text := strings.Join(got, ", "); text != want[n.Name] {
			t.Errorf("%s waited %q, want %q", n.Name, text, want[n.Name])
		}
	}
	if r.Nodes[0].State != report.Failed {
		t.Errorf("web-1 is %s, want Failed", r.Nodes[0].State)
	}
}

func TestLength(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 59 * time.Second: "59 s", time.Minute: "1 min", 90 * time.Second: "1 min 30 s", time.Hour: "1 h",
		time.Hour + 29*time.Minute: "1 h 29 min", 24 * time.Hour: "1 d", 49 * time.Hour: "2 d 1 h", -time.Second: "0 s",
	} {
		if got := report.Length(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}

// TestIgnoredGates checks that a gate which the upgrade did not wait for is noted once, from the
// record or from the ClusterUpgrade.
func TestIgnoredGates(t *testing.T) {
	ignored := []v1alpha1.IgnoredGate{{Name: "alerts", Comment: "noise", By: "alice"}}
	for name, change := range map[string]func(*clusterstate.Snapshot){
		"both": func(s *clusterstate.Snapshot) {
			for i := range s.Records {
				s.Records[i].Spec.IgnoreGates = ignored
			}
			s.Upgrades[0].Spec.IgnoreGates = ignored
		},
		"the ClusterUpgrade alone": func(s *clusterstate.Snapshot) { s.Records, s.Upgrades[0].Spec.IgnoreGates = nil, ignored },
	} {
		notes := slices.DeleteFunc(changed(t, change).Notes, func(note string) bool { return !strings.Contains(note, "gate") })
		if want := []string{"The upgrade did not wait for gate alerts: noise (alice)."}; !slices.Equal(notes, want) {
			t.Errorf("%s: got the notes %q, want %q", name, notes, want)
		}
	}
}

// TestRolledBackNodeServesAgain checks that a node is out of service until it serves again at its former version, and not
// for as long as it stays rolled back.
func TestRolledBackNodeServesAgain(t *testing.T) {
	r := changed(t, func(s *clusterstate.Snapshot) {
		for i := range s.Records {
			for j := range s.Records[i].Spec.Nodes {
				n := &s.Records[i].Spec.Nodes[j]
				if n.Name != "web-1" || n.StartTime == nil {
					continue
				}
				at := func(seconds int) metav1.MicroTime {
					return metav1.NewMicroTime(n.StartTime.Add(time.Duration(seconds) * time.Second))
				}
				end := func(seconds int) *metav1.MicroTime { t := at(seconds); return &t }
				n.EndTime, n.Reason = nil, v1alpha1.ReasonRolledBack
				n.Steps = []v1alpha1.StepTime{
					{Step: v1alpha1.StepCordoning, StartTime: at(0), EndTime: end(1)}, {Step: v1alpha1.StepVerifying, StartTime: at(1), EndTime: end(90)},
					{Step: v1alpha1.StepRolledBack, StartTime: at(90), EndTime: end(100)},
				}
			}
		}
	})
	i := slices.IndexFunc(r.Nodes, func(n report.Node) bool { return n.Name == "web-1" })
	if i < 0 {
		t.Fatal("the example has no web-1")
	}
	if n := r.Nodes[i]; n.OutOfServiceSeconds != 100 || n.State != report.Failed {
		t.Errorf("%s was out of service for %ds, want 100s and %s", n.State, n.OutOfServiceSeconds, report.Failed)
	}
}

// TestClusterName checks that a report begins with the name that the record has, or else with the one that the
// UpgradePolicy has now.
func TestClusterName(t *testing.T) {
	for name, test := range map[string]struct{ policy, record, want string }{
		"none":                      {"", "", "a title"},
		"the policy has one":        {"prod-eu-1", "", "prod-eu-1: a title"},
		"the record has another":    {"prod-eu-2", "prod-eu-1", "prod-eu-1: a title"},
		"it has been removed since": {"", "prod-eu-1", "prod-eu-1: a title"},
	} {
		t.Run(name, func(t *testing.T) {
			s, at := upgradesample.Example()
			s.Policy.Spec.ClusterName = test.policy
			for i := range s.Records {
				s.Records[i].Spec.ClusterName = test.record
			}
			r, err := report.New(s, upgradesample.Name, at)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Of("a title"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
