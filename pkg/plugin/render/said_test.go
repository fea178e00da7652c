package render

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

func TestSaidHasOneZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for message, want := range map[string]string{
		"upgrade a starts 2026-11-22 01:30 UTC":                            "upgrade a starts 2026-11-22 02:30 CET",
		"NotReady since 2026-07-01 23:30 UTC; if":                          "NotReady since 2026-07-02 01:30 CEST; if",
		"(the node has not looked at its pods since 2026-11-22T01:30:05Z)": "(the node has not looked at its pods since 2026-11-22 02:30 CET)",
		"window a/b opens 2026-11-22 20:30 America/New_York":               "window a/b opens 2026-11-23 02:30 CET",
		"between 2026-11-22 01:30 UTC and 2026-11-22 03:30 UTC.":           "between 2026-11-22 02:30 CET and 2026-11-22 04:30 CET.",
		"needs 1h5m0s, not drained within 15m0s, 30s":                      "needs 65m, not drained within 15m, 30s",
		// What is not known for certain, and what is no time, stays as it is.
		"window a/b opens 2026-10-25 02:30 Europe/Berlin":               "window a/b opens 2026-10-25 02:30 Europe/Berlin", // twice that night
		"window a/b opens 2026-11-22 20:30 Nowhere/Else":                "window a/b opens 2026-11-22 20:30 Nowhere/Else",
		"/var/lib/etcd/2026-11-22T01:30:05Z.db, a-2026-11-22T01:30:05Z": "/var/lib/etcd/2026-11-22T01:30:05Z.db, a-2026-11-22T01:30:05Z",
		"2026-11-22 and 2026-13-45 01:30 UTC":                           "2026-11-22 and 2026-13-45 01:30 UTC",
	} {
		if got := Said(message, berlin, duration.HumanDuration); got != want {
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
}

// TestScreensHaveOneZone checks that no screen shows a message's UTC beside local time.
func TestScreensHaveOneZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 22, 1, 30, 0, 0, time.UTC)
	const message = "since 2026-11-22 01:00 UTC"
	o := Options{Now: now, Zone: berlin}
	node := view.Node{Name: "w-1", State: view.StateWaiting, Step: v1alpha1.StepWaiting, Message: message, RebootReason: message, AgentProblem: message, RetryTime: &now}
	upgrade := &view.Upgrade{Name: "u", Message: message}
	ended := *upgrade
	ended.Outcome, ended.TriggerTime = v1alpha1.OutcomeFailed, &now
	findings := []v1alpha1.Finding{{ID: "a", Level: v1alpha1.LevelWarn, Message: message}}
	for screen, text := range map[string]string{
		"status": Screen(view.Status{
			Problems: []view.Problem{{Message: message}}, Upgrade: upgrade, Schedules: []view.Schedule{{Name: "s", Message: message}}, Nodes: []view.Node{node},
		}, o),
		"last":     Screen(view.Status{Last: &ended}, o),
		"node":     NodePage(node, o),
		"follow":   Follow(view.Progress{Upgrade: *upgrade, Nodes: []view.NodeProgress{{Node: node}}}, 0, o),
		"followed": Follow(view.Progress{Upgrade: ended}, 0, o),
		"history":  HistoryPage(view.Ended{Name: "u", Outcome: v1alpha1.OutcomeFailed, Message: message}, o),
		"findings": Findings(findings, o),
	} {
		if strings.Contains(text, "UTC") || !strings.Contains(text, "since 2026-11-22 02:00 CET") {
			t.Errorf("%s:\n%s", screen, text)
		}
	}
}
