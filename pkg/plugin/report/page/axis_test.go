package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/upgradesample"
)

// TestAxis checks that time in which nothing happens takes little room, and that later is
// never further left.
func TestAxis(t *testing.T) {
	s, at := upgradesample.Example()
	r, err := report.New(s, upgradesample.Name, at)
	if err != nil {
		t.Fatal(err)
	}
	a := newAxis(r)
	work, idle, before := 0.0, 0, -1.0
	for _, s := range a.segments {
		if s.left > s.right || s.left < before || !s.start.Before(s.end) {
			t.Errorf("segment %+v is not in order", s)
		}
		before = s.left
		if s.isBreak {
			idle++
		} else {
			work += s.right - s.left
		}
	}
	if idle != 2 || work < 0.9 || before > 1 || a.at(*r.Upgrade.EndTime) > 1 || a.at(r.Upgrade.StartTime.Add(-time.Hour)) != 0 {
		t.Errorf("%d breaks, %.2f of the axis is work; want 2 and nearly all", idle, work)
	}
	last := -1.0
	for at := r.Upgrade.StartTime.Add(-time.Hour); at.Before(r.Upgrade.EndTime.Add(time.Hour)); at = at.Add(time.Minute) {
		if x := a.at(at); x < last || x > 1.0000001 {
			t.Fatalf("%s is at %f, after %f", at, x, last)
		} else {
			last = x
		}
	}
}

// TestTicksHaveRoom checks that no label of the axis overlaps the next, at any zoom.
func TestTicksHaveRoom(t *testing.T) {
	start := time.Date(2026, 10, 24, 23, 17, 0, 0, time.UTC) // the night in which the clock goes back
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []time.Duration{time.Second, time.Minute, time.Hour, 7 * time.Hour, 40 * time.Hour, 30 * 24 * time.Hour} {
		end := start.Add(length)
		r := &report.Report{GeneratedTime: end, Upgrade: report.Upgrade{StartTime: &start, EndTime: &end, Outcome: v1alpha1.OutcomeSucceeded}}
		r.Nodes = []report.Node{{Steps: []report.Step{{Step: v1alpha1.StepStaging, Start: start, End: &end}}}}
		a := newAxis(r)
		for _, set := range a.tickSets(newClock(zone, start, end, end)) {
			for _, labels := range []struct {
				ticks []tick
				room  float64
			}{{set.Ticks, tickRoom}, {set.Labels, dayRoom}} {
				last := -1.0
				for _, one := range labels.ticks {
					var x float64
					if _, err := fmt.Sscanf(strings.TrimSuffix(one.X, "%"), "%f", &x); err != nil {
						t.Fatal(err)
					}
					if last >= 0 && (x-last)/100 < labels.room/float64(set.Zoom)-0.0002 {
						t.Errorf("%s, zoom %d: %q is at %.2f, too near to %.2f", length, set.Zoom, one.Label, x, last)
					}
					last = x
				}
			}
			if len(set.Ticks) == 0 || len(set.Labels) == 0 {
				t.Errorf("%s, zoom %d: %d ticks, %d dates", length, set.Zoom, len(set.Ticks), len(set.Labels))
			}
		}
	}
}

// TestClock checks that times have their zone where its offset changes within the report, and
// their year where that changes.
func TestClock(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	summer := time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC)
	winter, january := summer.AddDate(0, 0, 2), summer.AddDate(0, 3, 0)
	for want, got := range map[string]string{
		"24 Oct 14:00":                   newClock(berlin, summer, summer, summer).short(summer),
		"24 Oct 14:00 CEST":              newClock(berlin, summer, winter, winter).short(summer),
		"26 Oct 2026 13:00:00":           newClock(berlin, winter, january, january).exact(winter),
		"Europe/Berlin, CET (UTC+01:00)": newClock(berlin, winter, winter, winter).name(),
		"UTC":                            newClock(time.UTC, winter, winter, winter).name(),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestLittleKnown checks that there is a page of whatever is known.
func TestLittleKnown(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for name, r := range map[string]*report.Report{
		"nothing":      {GeneratedTime: at},
		"no steps":     {GeneratedTime: at, Nodes: []report.Node{{Name: "w-1", State: report.NotDone}}, Calendars: []report.Calendar{{}}},
		"certificates": {GeneratedTime: at, Upgrade: report.Upgrade{Type: v1alpha1.TypeCertificates, Method: v1alpha1.MethodReboot, StartTime: &at}},
		"a reboot":     {GeneratedTime: at, Upgrade: report.Upgrade{Type: v1alpha1.TypeReboot, StartTime: &at}},
	} {
		text, err := HTML(r, Options{Zone: time.UTC})
		if err != nil || !strings.Contains(string(text), "</html>") {
			t.Errorf("%s: %v:\n%s", name, err, text)
		}
		if renewal := strings.Contains(string(text), "<h1>Renewal of certificates") && strings.Contains(string(text), "one control plane after the other"); renewal != (name == "certificates") {
			t.Errorf("%s: is told as a renewal: %t:\n%s", name, renewal, text)
		}
	}
}
