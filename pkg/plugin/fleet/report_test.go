package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

// day returns a day of November at noon.
func day(n int) metav1.Time { return metav1.NewTime(time.Date(2026, 11, n, 12, 0, 0, 0, time.UTC)) }

func pointer(t metav1.Time) *metav1.Time { return &t }

// record returns the record of an upgrade that was triggered on one day and ended on the next; its first node
// began an hour after the trigger, and had its former version in the end unless the upgrade succeeded.
func record(uid, from, to string, on int, outcome v1alpha1.Outcome) v1alpha1.UpgradeRecord {
	trigger, began, has := day(on), metav1.NewTime(day(on).Add(time.Hour)), to
	if outcome != v1alpha1.OutcomeSucceeded {
		has = from
	}
	return v1alpha1.UpgradeRecord{
		ObjectMeta: metav1.ObjectMeta{Name: uid + "-1"}, Spec: v1alpha1.UpgradeRecordSpec{
			Piece: 1, Pieces: 1,
			UpgradeSummary: v1alpha1.UpgradeSummary{Upgrade: v1alpha1.UpgradeReference{Name: to, UID: uid}, Type: v1alpha1.TypePatch, FromVersion: from, Version: to, Outcome: outcome, TriggerTime: &trigger, EndTime: day(on + 1), RequestedBy: "anna"},
			Nodes:          []v1alpha1.NodeRecord{{Name: "w1", StartTime: &began, From: from, To: has}},
		},
	}
}

// words returns the runs in one line.
func words(row ReportRow) string {
	var all []string
	clock := func(t *time.Time) string {
		if t == nil {
			return "?"
		}
		return t.Format("2T15")
	}
	for _, run := range row.Runs {
		word := fmt.Sprintf("%s %s-%s", run.Version, clock(run.From), clock(run.To))
		if a := run.Attempt; a != nil {
			word = fmt.Sprintf("%s tried %s-%s", run.Version, clock(a.StartTime), clock(a.EndTime))
		}
		for _, d := range run.Digests {
			word += " " + string(d.Digest)
		}
		if run.Problem != "" {
			word += " " + run.Problem
		}
		all = append(all, word)
	}
	return strings.Join(all, ", ")
}

// TestRuns checks from when to when a cluster ran what: by records, and by status.ran where that is known.
func TestRuns(t *testing.T) {
	s := base()
	if got, want := words(NewReportRow(Cluster{}, s)), "v1.34.3 ?-?"; got != want {
		t.Errorf("a cluster that was never upgraded: got %s, want %s", got, want)
	}
	s.Records = []v1alpha1.UpgradeRecord{
		record("c", "v1.34.2", "v1.34.4", 20, v1alpha1.OutcomeFailed), record("b", "v1.34.1", "v1.34.2", 10, v1alpha1.OutcomeSucceeded),
		record("a", "v1.34.0", "v1.34.1", 1, v1alpha1.OutcomeSucceeded), record("r", "v1.34.2", "", 15, v1alpha1.OutcomeSucceeded),
	}
	s.Records[2].Spec.Digests = []v1alpha1.ImageDigest{{Architecture: "amd64", Digest: "sha256:a"}}
	if got, want := words(NewReportRow(Cluster{}, s)), "v1.34.0 ?-1T13, v1.34.1 2T12-10T13 sha256:a, v1.34.2 11T12-20T13, v1.34.4 tried 20T13-21T12, v1.34.2 21T12-?"; got != want {
		t.Errorf("by records: got %s, want %s", got, want)
	}
	s.Policy.Status.Ran = []v1alpha1.RanVersion{
		{Version: "v1.34.5", Upgrade: v1alpha1.UpgradeReference{Name: "v1.34.5", UID: "d"}, Digests: []v1alpha1.ImageDigest{{Architecture: "amd64", Digest: "sha256:d"}}, Problem: "node w1 failed"},
		{Version: "v1.34.2", Upgrade: v1alpha1.UpgradeReference{Name: "v1.34.2", UID: "b"}, Digests: []v1alpha1.ImageDigest{{Architecture: "amd64", Digest: "sha256:b"}}, SinceTime: pointer(day(11)), UntilTime: pointer(metav1.NewTime(day(20).Add(time.Hour)))},
	}
	row := NewReportRow(Cluster{Context: "c"}, s)
	if got, want := words(row), "v1.34.0 ?-1T13, v1.34.1 2T12-10T13 sha256:a, v1.34.2 11T12-20T13 sha256:b, v1.34.4 tried 20T13-21T12, v1.34.2 21T12-?, v1.34.5 tried ?-? sha256:d node w1 failed"; got != want {
		t.Errorf("with status.ran: got %s, want %s", got, want)
	}
	if row.Runs[1].RequestedBy != "anna" || len(row.Upgrades) != 4 || row.Upgrades[3].Outcome != v1alpha1.OutcomeFailed || row.Upgrades[0].Record != nil {
		t.Errorf("got %+v", row)
	}
	since := day(12).Time
	if got, want := words(NewReport([]ReportRow{row}, &since, now).Items[0]), "v1.34.2 11T12-20T13 sha256:b, v1.34.4 tried 20T13-21T12, v1.34.2 21T12-?, v1.34.5 tried ?-? sha256:d node w1 failed"; got != want {
		t.Errorf("since the 12th: got %s, want %s", got, want)
	}
}

// TestPushedOut checks when a version ended that status.ran has no room for any more, before one that failed: when its
// successor was tried, by its record or else by what is left of it there, and not "now".
func TestPushedOut(t *testing.T) {
	for name, test := range map[string]struct {
		failed []v1alpha1.UpgradeRecord
		want   string
	}{
		"with its record":    {[]v1alpha1.UpgradeRecord{record("f", "v1.34.1", "v1.34.2", 5, v1alpha1.OutcomeFailed)}, "v1.34.0 ?-1T13, v1.34.1 2T12-5T13, v1.34.2 tried 5T13-6T12, v1.34.1 6T12-10T12, v1.34.3 10T12-?"},
		"without its record": {nil, "v1.34.0 ?-1T13, v1.34.1 2T12-9T12, v1.34.2 tried ?-9T12, v1.34.3 10T12-?"},
	} {
		s := base()
		s.Records = append(test.failed, record("a", "v1.34.0", "v1.34.1", 1, v1alpha1.OutcomeSucceeded))
		s.Policy.Status.Ran = []v1alpha1.RanVersion{
			{Version: "v1.34.3", Upgrade: v1alpha1.UpgradeReference{Name: "v1.34.3", UID: "n"}, SinceTime: pointer(day(10))},
			{Version: "v1.34.2", Upgrade: v1alpha1.UpgradeReference{Name: "v1.34.2", UID: "f"}, UntilTime: pointer(day(9))},
		}
		if got := words(NewReportRow(Cluster{}, s)); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

func TestCovers(t *testing.T) {
	freeze := func(change func(*v1alpha1.MaintenanceSchedule)) v1alpha1.MaintenanceSchedule {
		f := timetable("f", "maintenanceExclusions: [{name: freeze, startTime: 2026-11-26T00:00:00Z, endTime: 2026-11-30T00:00:00Z}]")
		if change != nil {
			change(&f)
		}
		return f
	}
	exclusion := func(change func(*v1alpha1.MaintenanceExclusion)) func(*v1alpha1.MaintenanceSchedule) {
		return func(s *v1alpha1.MaintenanceSchedule) { change(&s.Spec.MaintenanceExclusions[0]) }
	}
	nodes := func(s *v1alpha1.MaintenanceSchedule) {
		s.Spec.NodeSelector = v1alpha1.NewLabelSelector(&metav1.LabelSelector{MatchLabels: map[string]string{"pool": "a"}})
	}
	minors := exclusion(func(x *v1alpha1.MaintenanceExclusion) { x.UpgradeTypes = []v1alpha1.UpgradeType{v1alpha1.TypeMinor} })
	for name, test := range map[string]struct {
		there, asked v1alpha1.MaintenanceSchedule
		want         string
	}{
		"the same":                {freeze(nil), freeze(nil), ""},
		"longer":                  {freeze(exclusion(func(x *v1alpha1.MaintenanceExclusion) { x.EndTime = metav1.NewTime(x.EndTime.Add(time.Hour)) })), freeze(nil), ""},
		"shorter":                 {freeze(exclusion(func(x *v1alpha1.MaintenanceExclusion) { x.EndTime = metav1.NewTime(x.EndTime.Add(-time.Hour)) })), freeze(nil), "it ends at 2026-11-29T23:00:00Z"},
		"over":                    {freeze(exclusion(func(x *v1alpha1.MaintenanceExclusion) { x.EndTime = metav1.NewTime(now) })), freeze(nil), "it does not hold now"},
		"later":                   {freeze(exclusion(func(x *v1alpha1.MaintenanceExclusion) { x.StartTime = metav1.NewTime(now.Add(time.Hour)) })), freeze(nil), "it does not hold now"},
		"for minors alone":        {freeze(minors), freeze(nil), "it is not for upgrades of type Patch,Reboot,Rollback,Certificates"},
		"all but certificates":    {freeze(exclusion(func(x *v1alpha1.MaintenanceExclusion) { x.UpgradeTypes = request.AllButCertificates() })), freeze(nil), "it is not for upgrades of type Certificates"},
		"minors are asked for":    {freeze(nil), freeze(minors), ""},
		"for some nodes":          {freeze(nodes), freeze(nil), "it is for other nodes"},
		"some nodes of all":       {freeze(nil), freeze(nodes), ""},
		"a schedule with windows": {timetable("w", "maintenanceWindows: [{name: w, startTime: 2026-11-01T22:00:00Z, endTime: 2026-11-02T04:00:00Z}]"), freeze(nil), "it has windows, and is no freeze"},
	} {
		if got := Covers(test.there, test.asked, now); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{"prod-1,prod-2": "prod-1,prod-2", "": "''", "two words": "'two words'", "it's": `'it'\''s'`, "prod-*": "'prod-*'"} {
		if got := Quote(word); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}
