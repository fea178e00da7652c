package migrate

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// parseFLUO reads the lines of a case: "operator WORD", "agent WORD", "env NAME=VALUE" (of the
// operator), "agent-env NAME=VALUE", "paused NODE".
func parseFLUO(input string) FLUO {
	in := FLUO{Operator: Container{Command: []string{"/bin/update-operator"}}, Agent: Container{Command: []string{"/bin/update-agent"}}, Placement: Placement{ControlPlane: true}, ScheduleName: "fluo", Now: now}
	for line := range strings.Lines(input) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		name, value, _ := strings.Cut(rest, "=")
		switch word {
		case "operator":
			in.Operator.Command = append(in.Operator.Command, rest)
		case "agent":
			in.Agent.Args = append(in.Agent.Args, rest)
		case "env":
			in.Operator.Variables = append(in.Operator.Variables, Variable{Name: name, Value: value})
		case "agent-env":
			in.Agent.Variables = append(in.Agent.Variables, Variable{Name: name, Value: value})
		case "paused":
			in.Paused = append(in.Paused, rest)
		}
	}
	return in
}

func TestFLUOFlags(t *testing.T) {
	runCases(t, "testdata/fluo.txt", 14, func(input string) string {
		r := FromFLUO(parseFLUO(input))
		if r.Schedule != nil {
			if err := schedule.Check(r.Schedule); err != nil {
				t.Errorf("%s: %v", input, err)
			}
		}
		return describe(r)
	})
}

// TestFLUOWindow checks single moments, and that the schedule is open when FLUO's window is.
func TestFLUOWindow(t *testing.T) {
	for _, c := range []struct {
		start, length, zone string
		open, closed        []string
	}{
		{"Thu 23:00", "1h30m", "UTC", []string{"2026-11-26 23:00:00", "2026-11-27 00:29:59"}, []string{"2026-11-26 22:59:59", "2026-11-27 00:30:00", "2026-11-27 23:30:00"}},
		{"14:00", "1h", "Europe/Berlin", []string{"2026-11-23 14:00:00", "2026-11-29 14:59:59"}, []string{"2026-11-23 13:59:00", "2026-11-23 15:00:00"}},
		{"sat 12:00", "100h", "UTC", []string{"2026-11-28 12:00:00", "2026-12-01 12:00:00"}, []string{"2026-12-02 16:00:00", "2026-11-28 11:59:00"}},
	} {
		in, err := schedule.Zone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		w, err := parseFLUOWindow(c.start, c.length, in)
		if err != nil {
			t.Fatal(err)
		}
		for want, times := range map[bool][]string{true: c.open, false: c.closed} {
			for _, text := range times {
				at, err := time.ParseInLocation(time.DateTime, text, in)
				if err != nil {
					t.Fatal(err)
				}
				if got := w.Contains(at); got != want {
					t.Errorf("%s for %s at %s: open %v, want %v", c.start, c.length, text, got, want)
				}
			}
		}
		r := FromFLUO(parseFLUO("operator -reboot-window-start=" + c.start + "\noperator --reboot-window-length\noperator " + c.length + "\nenv TZ=" + c.zone + "\n"))
		from := now.AddDate(0, 0, 14)
		until := from.AddDate(0, 2, 0)
		openings, err := schedule.Next([]v1alpha1.MaintenanceSchedule{*r.Schedule}, nil, "", from, 200)
		if err != nil {
			t.Fatal(err)
		}
		var ours []Span
		for _, o := range openings {
			ours = append(ours, Span{o.Start, o.End})
		}
		for _, p := range Compare(w.Openings(from, until), join(ours, from, until)) {
			if p.Differs() {
				t.Errorf("%s for %s: FLUO %v, schedule %v", c.start, c.length, p.Theirs, p.Ours)
			}
		}
	}
	for _, bad := range [][2]string{{"25:00", "1h"}, {"14", "1h"}, {"foo 14:00", "1h"}, {"sat 14:00", "1j"}, {"sat 14:00", "-1h"}, {"sat", "1h"}, {"14:00", "24h"}, {"sat 1:00", "168h"}, {"", "1h"}} {
		if w, err := parseFLUOWindow(bad[0], bad[1], time.UTC); err == nil {
			t.Errorf("%v: got %+v", bad, w)
		}
	}
}
