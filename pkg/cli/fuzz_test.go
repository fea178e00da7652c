package cli

import (
	"strings"
	"testing"
	"time"
	"unicode"
)

// What people type.
func FuzzArguments(f *testing.F) {
	f.Add("2026-12-24 18:00", "Europe/Berlin")
	f.Add("2026-10-25 02:30", "Europe/Berlin")
	f.Add("14d12h", "Asia/Tokyo")
	f.Add("pool in (db,mq),!gpu", "UTC")
	f.Add("pdb-blocks=one replica", "")
	f.Fuzz(func(t *testing.T, text, zone string) {
		in, err := time.LoadLocation(zone)
		if err != nil {
			in = time.UTC
		}
		if at, err := moment("until", text, in); err == nil && (at.UTC().Year() < 1970 || at.UTC().Year() > 2999) {
			t.Errorf("%q is %s", text, at)
		}
		if lasts, err := span("for", text); err == nil && lasts <= 0 {
			t.Errorf("%q lasts %s", text, lasts)
		}
		if s, err := parseSelector(text); err == nil {
			_, _ = s.AsSelector()
			_ = selectorText(s)
		}
		if checks, err := ignoredChecks([]string{text}); err == nil && len(checks) == 0 {
			t.Errorf("%q lets nothing through", text)
		}
	})
}

// Files of schedules, and the log of an agent.
func FuzzFiles(f *testing.F) {
	f.Add("apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: MaintenanceSchedule\nmetadata: {name: a}\nspec: {timeZone: UTC}\n---\nkind: List\nitems: []\n")
	f.Add("kubeadm-log begin v1\nkubeadm-log | a\nkubeadm-log end v1 OK\n")
	f.Add("- [")
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = decodeSchedules(strings.NewReader(text))
		if run, err := lastRun(strings.NewReader(text)); run != nil && err == nil && !strings.Contains(text, logBegin) {
			t.Errorf("%q tells of a run", text)
		}
	})
}

// Nothing that a terminal obeys is shown, but our own colors where they are wanted.
func FuzzShown(f *testing.F) {
	f.Add("a\x1b[31mred\x1b[0m\x1b[2J", true)
	f.Add("\u009b2J\u202e\xff", false)
	f.Fuzz(func(t *testing.T, text string, colors bool) {
		got := shown(text, colors)
		if colors {
			for _, own := range []string{"0", "1", "2", "31", "32", "33", "36"} {
				got = strings.ReplaceAll(got, "\x1b["+own+"m", "")
			}
		}
		for _, r := range got {
			if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%q is shown as %q", text, got)
			}
		}
	})
}
