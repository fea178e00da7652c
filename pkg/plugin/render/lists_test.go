package render_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

func TestFindings(t *testing.T) {
	findings := []v1alpha1.Finding{
		{ID: "etcd-member", Level: v1alpha1.LevelBlock, Node: "cp-2", Message: "etcd member cp-2 does not answer.", Advice: "See `crictl logs` of etcd on cp-2."},
		{ID: "cgroup-v1", Level: v1alpha1.LevelBlock, Object: v1alpha1.ObjectReference{Kind: "Node", Name: "worker-1"}, Message: "runs cgroup v1, which kubelet v1.35 refuses", Ignored: true},
	}
	for i := range 7 {
		findings = append(findings, v1alpha1.Finding{ID: "single-replica", Level: v1alpha1.LevelWarn, Object: v1alpha1.ObjectReference{Kind: "Deployment", Namespace: "web", Name: fmt.Sprintf("web-%d", i)}, Message: "has one replica"})
	}
	o := render.Options{Now: now, Zone: time.UTC, Width: 100}
	golden(t, "findings", render.Findings(findings, o))
	o.Width = 50
	golden(t, "findings-50", render.Findings(findings, o))
	o.Width, o.Wide = 0, true
	golden(t, "findings-wide", render.Findings(findings, o))
	if got := render.Findings(nil, o); got != "" {
		t.Errorf("without findings: got %q", got)
	}
	if got, want := render.CountFindings(findings), "1 block, 1 ignored, 7 warn"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHistory(t *testing.T) {
	at := func(ago time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-ago)} }
	items := []view.Ended{
		{Name: "v1.34.4", Type: "Patch", From: "v1.34.3", To: "v1.34.4", TriggerTime: ago(50 * time.Hour), EndTime: ago(49 * time.Hour), Outcome: "Succeeded", Message: "all 4 nodes run v1.34.4", Nodes: v1alpha1.NodeCounts{Total: 4, Done: 4}},
		{Name: "v1.35.4", Type: "Minor", From: "v1.34.4", To: "v1.35.4", TriggerTime: ago(5 * time.Hour), EndTime: ago(4 * time.Hour), Outcome: "RolledBack", Message: "node worker-1 failed (WrongVersion)", Nodes: v1alpha1.NodeCounts{Total: 4, Done: 1},
			RequestedBy: "alice", RetryOf: &v1alpha1.RetriedUpgrade{Name: "v1.35.3"}, IgnoreChecks: []v1alpha1.IgnoredCheck{{ID: "cgroup-v1", Comment: "ticket 4711"}, {ID: "bare-pod"}}, EtcdSnapshot: &v1alpha1.EtcdSnapshot{Node: "cp-1", Path: "/opt/kubectl-upgrade/snapshots/v1.35.4.db", Digest: "sha256:0123abcd"},
			Record: []v1alpha1.NodeRecord{
				{Name: "cp-1", From: "v1.34.4", To: "v1.35.4", StartTime: at(5 * time.Hour), EndTime: at(285 * time.Minute), Attempts: 1},
				{Name: "worker-1", From: "v1.34.4", To: "v1.34.4", StartTime: at(4 * time.Hour), Attempts: 2, Reason: "WrongVersion"},
				{Name: "worker-2", From: "v1.35.4", To: "v1.35.4"},
			}},
	}
	o := render.Options{Now: now, Zone: time.UTC}
	golden(t, "history", render.HistoryTable(items, o))
	golden(t, "history-none", render.HistoryTable(nil, o))
	golden(t, "history-page", render.HistoryPage(items[1], o))
	o.Width = 50
	golden(t, "history-50", render.HistoryTable(items, o))
	golden(t, "history-page-50", render.HistoryPage(items[1], o))
}

// TestHistoryRows checks the rows of upgrades without a version, of those whose clock was set back between them, and of one
// that left nodes out.
func TestHistoryRows(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	ended := func(name, from, to string, at time.Time, done int32) view.Ended {
		end := at.Add(90 * time.Minute)
		return view.Ended{Name: name, From: from, To: to, TriggerTime: &at, EndTime: &end, Outcome: "Succeeded", Nodes: v1alpha1.NodeCounts{Total: 3, Done: done}}
	}
	summer, winter := time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 22, 0, 0, 0, time.UTC)
	items := []view.Ended{ended("reboot-1", "", "", summer, 3), ended("rollback-v1.34.3", "v1.34.4", "v1.34.3", winter, 2)}
	o := render.Options{Now: now, Zone: berlin}
	golden(t, "history-rows", render.HistoryTable(items, o))
	golden(t, "history-rows-one-zone", render.HistoryTable(items[:1], o))
	o.Wide = true
	golden(t, "history-rows-wide", render.HistoryTable(items, o))
}

func TestReleases(t *testing.T) {
	items := []view.Minor{
		{Minor: "v1.29", Runs: []view.Count{{Version: "v1.29.1", Nodes: 1}}, Support: version.SupportEnded},
		{Minor: "v1.34", Newest: "v1.34.5", Runs: []view.Count{{Version: "v1.34.3", Nodes: 1}, {Version: "v1.34.4", Nodes: 3}}, Staged: []view.Count{{Version: "v1.34.5", Nodes: 2}}, Support: version.SupportEnded, SupportEnds: "2026-10-27"},
		{Minor: "v1.35", Newest: "v1.35.4", PartlyOffered: "v1.35.5", Support: version.Supported, SupportEnds: "2027-02-28"},
		{Minor: "v1.39", Newest: "v1.39.0", Support: version.SupportIsUnknown},
	}
	golden(t, "releases", render.Releases(items, render.Options{}))
	golden(t, "releases-60", render.Releases(items, render.Options{Width: 60}))
	golden(t, "releases-none", render.Releases(nil, render.Options{}))
}
