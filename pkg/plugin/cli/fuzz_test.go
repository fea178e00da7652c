package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadmlog"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// FuzzArguments parses arguments that people type.
func FuzzArguments(f *testing.F) {
	f.Add("2026-12-24 18:00", "Europe/Berlin")
	f.Add("2026-10-25 02:30", "Europe/Berlin")
	f.Add("14d12h", "Asia/Tokyo")
	f.Add("pool in (db,mq),!gpu", "UTC")
	f.Add("pdb-blocks=one replica", "")
	f.Fuzz(func(t *testing.T, text, zone string) {
		in, err := schedule.Zone(zone)
		if err != nil {
			in = time.UTC
		}
		if at, err := parseTime("until", text, in); err == nil && (at.UTC().Year() < 1970 || at.UTC().Year() > 2999) {
			t.Errorf("%q is parsed as the time %s", text, at)
		}
		if length, err := parseDuration("for", text); err == nil && length <= 0 {
			t.Errorf("%q is parsed as the duration %s", text, length)
		}
		if s, err := parseSelector(text); err == nil {
			_, _ = s.AsSelector()
		}
		if checks, err := ignoredChecks([]string{text}, "a reason"); err == nil && len(checks) == 0 {
			t.Errorf("%q is accepted, and ignores no check", text)
		}
	})
}

// FuzzFiles parses the logs of agents.
func FuzzFiles(f *testing.F) {
	f.Add("kubeadm-log begin v1\nkubeadm-log | a\nkubeadm-log end v1 OK\n")
	f.Add("- [")
	f.Fuzz(func(t *testing.T, text string) {
		if run, err := lastRun(strings.NewReader(text)); run != nil && err == nil && !strings.Contains(text, kubeadmlog.Begin) {
			t.Errorf("got a run of kubeadm from %q", text)
		}
	})
}
