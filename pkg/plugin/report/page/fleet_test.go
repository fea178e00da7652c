package page_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report/page"
)

// TestFleetAttempt draws a cluster that ran v1.34.8 from the 2nd, left v1.34.9 halfway on the 10th and 11th, and ran
// v1.34.11 from the 21st, on a page that begins in its first hours: a version that was never on every node is a mark
// from when its upgrade began to when that ended, and no time in which the cluster ran it.
func TestFleetAttempt(t *testing.T) {
	noon := func(day int) metav1.Time { return metav1.NewTime(time.Date(2026, 11, day, 12, 0, 0, 0, time.UTC)) }
	at := func(day int) *metav1.Time { t := noon(day); return &t }
	upgrade := func(v string) v1alpha1.UpgradeReference { return v1alpha1.UpgradeReference{Name: v, UID: v} }
	var s clusterstate.Snapshot
	s.Policy = &v1alpha1.UpgradePolicy{}
	s.Policy.Status.Ran = []v1alpha1.RanVersion{
		{Version: "v1.34.11", Upgrade: upgrade("v1.34.11"), SinceTime: at(21)},
		{Version: "v1.34.9", Upgrade: upgrade("v1.34.9"), UntilTime: at(20), Problem: "node w1 failed"},
		{Version: "v1.34.8", Upgrade: upgrade("v1.34.8"), SinceTime: at(2), UntilTime: at(10)},
	}
	s.Records = []v1alpha1.UpgradeRecord{{Spec: v1alpha1.UpgradeRecordSpec{
		UpgradeSummary: v1alpha1.UpgradeSummary{
			Upgrade: upgrade("v1.34.9"), Type: v1alpha1.TypePatch, FromVersion: "v1.34.8", Version: "v1.34.9", Outcome: v1alpha1.OutcomeFailed,
			TriggerTime: at(9), EndTime: noon(11), Counts: v1alpha1.NodeCounts{Total: 5, Done: 1},
		},
		Nodes: []v1alpha1.NodeRecord{{Name: "w1", StartTime: at(10), From: "v1.34.8", To: "v1.34.8"}, {Name: "w2", StartTime: at(10), From: "v1.34.8", To: "v1.34.9"}},
	}}}
	row := fleet.NewReportRow(fleet.Cluster{Context: "staging"}, s)
	since := noon(1).Time
	text, err := page.FleetHTML(fleet.NewReport([]fleet.ReportRow{row}, &since, noon(31).Time), page.Options{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	var drawn []string
	for _, m := range regexp.MustCompile(`<rect class="([^"]*)" x="([^"]*)" width="([^"]*)"><title>(.*?)</title>`).FindAllSubmatch(text, -1) {
		drawn = append(drawn, fmt.Sprintf("%s: %s +%s: %s", m[1], m[2], m[3], m[4]))
	}
	want := `run: 3.33% +26.67%: v1.34.8 from 2026-11-02 12:00 UTC to 2026-11-10 12:00 UTC
tried bad: 30% +3.33%: v1.34.9 was tried from 2026-11-10 12:00 UTC to 2026-11-11 12:00 UTC, and came to 1 of 5 nodes: Failed: node w1 failed
run: 66.67% +33.33%: v1.34.11 from 2026-11-21 12:00 UTC`
	if got := strings.Join(drawn, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if want := `<td>v1.34.9<td class="when">never<td class="when">–<td>`; !strings.Contains(string(text), want) {
		t.Errorf("the table has no %s", want)
	}
}

// TestFleetTicks checks that a page shorter than a week has hours on its axis, with the date where that changes, and that
// digests are folded, so that on a phone a row is not as high as they are.
func TestFleetTicks(t *testing.T) {
	end := time.Date(2026, 11, 28, 19, 20, 0, 0, time.UTC)
	for _, test := range []struct {
		lasts time.Duration
		want  string
	}{
		{time.Hour, "28 Nov 18:20, 18:30, 18:40, 18:50, 19:00, 19:10, 19:20"},
		{48 * time.Hour, "26 Nov 19:20, 27 Nov 03:20, 11:20, 19:20, 28 Nov 03:20, 11:20, 19:20"},
		{12 * 7 * 24 * time.Hour, "5 Sep 2026, 19 Sep 2026, 3 Oct 2026, 17 Oct 2026, 31 Oct 2026, 14 Nov 2026, 28 Nov 2026"},
	} {
		since := end.Add(-test.lasts)
		row := fleet.ReportRow{Runs: []fleet.Run{{Version: "v1.34.4", From: &since, Digests: []v1alpha1.ImageDigest{{Architecture: "amd64", Digest: "sha256:01"}}}}}
		text, err := page.FleetHTML(fleet.NewReport([]fleet.ReportRow{row}, &since, end), page.Options{Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		var labels []string
		for _, m := range regexp.MustCompile(`y="28">(.*?)</text>`).FindAllSubmatch(text, -1) {
			labels = append(labels, string(m[1]))
		}
		if got := strings.Join(labels, ", "); got != test.want {
			t.Errorf("%s: got %s, want %s", test.lasts, got, test.want)
		}
		if want := "<td><details><summary>1 image</summary><code>amd64 sha256:01</code> </details><td>"; !strings.Contains(string(text), want) {
			t.Errorf("the table has no %s", want)
		}
	}
}
