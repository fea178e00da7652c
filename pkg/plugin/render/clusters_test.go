package render_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// fourClusters are one that is done, one that waits, one that failed and one that went silent.
func fourClusters(now time.Time) fleet.Status {
	soon, later := now.Add(10*time.Hour), now.Add(60*time.Hour)
	ago := now.Add(-40 * time.Second)
	runs := []view.Count{{Version: "v1.34.3", Nodes: 2}, {Version: "v1.34.4", Nodes: 1}}
	return fleet.NewStatus([]fleet.Row{
		{Cluster: fleet.Cluster{Context: "dev-1", Stage: "dev", Server: "a"}, State: fleet.StateIdle, Version: "v1.34.4", Versions: runs[1:], Window: &fleet.Opening{Start: now, End: &soon}},
		{Cluster: fleet.Cluster{Context: "prod-1", Stage: "prod", Server: "b"}, State: fleet.StateWaiting, Version: "v1.34.3", Versions: runs, Behind: &fleet.Behind{Version: "v1.34.4", Since: now.Add(-50 * time.Hour)},
			Upgrade: &fleet.Upgrade{Name: "v1.34.4", Progress: "1/3"}, Window: &fleet.Opening{Start: soon},
			Follows: []fleet.Follow{{Gate: "dev", Context: "dev-1", Message: "not yet", Until: &later}}, Reason: v1alpha1.ReasonNotSoaked, Message: "gate dev follows a cluster that has run v1.34.4 since a short while only"},
		{Cluster: fleet.Cluster{Context: "arn:aws:eks:eu-central-1:123456789012:cluster/prod-2", Stage: "prod", Server: "c"}, State: fleet.StateFailed, NeedsPerson: true, Version: "v1.34.3", Versions: runs[:1],
			Upgrade: &fleet.Upgrade{Name: "v1.34.4", Outcome: v1alpha1.OutcomeFailed}, Reason: v1alpha1.ReasonNodeFailed, Message: "node w1 failed"},
		{Cluster: fleet.Cluster{Context: "prod-3", Stage: "prod", Server: "d"}, State: fleet.StateSilent, NeedsPerson: true, AsOf: &ago, Version: "v1.34.4", Versions: runs[1:], Reason: fleet.ReasonSilent, Message: "no answer within 4s"},
	})
}

func TestClusters(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	o := render.Options{Now: now, Zone: time.UTC}
	for width, want := range map[int]string{
		0: `CLUSTER                                                STAGE   RUNS               NEXT      DONE   STATE
dev-1                                                  dev     v1.34.4            -         -      idle
prod-1                                                 prod    v1.34.3, v1.34.4   v1.34.4   1/3    follows   dev-1 until Sun 00:00
arn:aws:eks:eu-central-1:123456789012:cluster/prod-2   prod    v1.34.3            v1.34.4   -      FAILED    node w1 failed
prod-3                                                 prod    v1.34.4            -         -      SILENT    no answer within 4s; this is 40s old

3 of 4 clusters answered: 1 failed, 1 waiting, 1 idle; 1 lack a patch.
1 of 4 clusters needs a person: kubectl upgrade status --context arn:aws:eks:eu-central-1:123456789012:cluster/prod-2
`,
		60: `CLUSTER           RUNS               NEXT      STATE
dev-1             v1.34.4            -         idle
    stage dev
prod-1            v1.34.3, v1.34.4   v1.34.4   follows
    dev-1 until Sun 00:00; stage prod, done 1/3
arn:a…er/prod-2   v1.34.3            v1.34.4   FAILED
    node w1 failed; stage prod
prod-3            v1.34.4            -         SILENT
    no answer within 4s; this is 40s old; stage prod

3 of 4 clusters answered: 1 failed, 1 waiting, 1 idle; 1
lack a patch.
1 of 4 clusters needs a person:
kubectl upgrade status --context arn:aws:eks:eu-central-1:123456789012:cluster/prod-2
`,
	} {
		o.Width = width
		if got := render.Clusters(fourClusters(now), o); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
}

// TestWhatClustersRun checks that no version is shown as what the whole cluster runs where the policy leaves nodes out, or
// the control plane runs another one.
func TestWhatClustersRun(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	runs := []view.Count{{Version: "v1.34.3", Nodes: 2}}
	row := func(name string, r fleet.Row) fleet.Row {
		r.Context, r.State, r.Version = name, fleet.StateIdle, "v1.34.3"
		return r
	}
	rows := fleet.NewStatus([]fleet.Row{
		row("all", fleet.Row{Versions: runs}),
		row("some", fleet.Row{Versions: runs, Unmanaged: 3}),
		row("back", fleet.Row{Versions: runs, APIServers: []string{"v1.34.4"}}),
		row("both", fleet.Row{Versions: runs, APIServers: []string{"v1.34.4"}, Unmanaged: 1}),
		row("none", fleet.Row{Unmanaged: 3}),
	})
	got := render.Clusters(rows, render.Options{Now: now, Zone: time.UTC})
	for _, want := range []string{
		"\nall       v1.34.3                                       idle",
		"\nsome      v1.34.3 (2 of 5 nodes)                        idle",
		"\nback      v1.34.3 (apiserver v1.34.4)                   idle",
		"\nboth      v1.34.3 (apiserver v1.34.4; 2 of 3 nodes)     idle",
		"\nnone      (0 of 3 nodes)                                idle",
	} {
		if !strings.Contains(squeezed(got), squeezed(want)) {
			t.Errorf("got\n%s\nwant a row%s", got, want)
		}
	}
}

// squeezed returns a table without its padding, and without cells that have nothing.
func squeezed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.Join(slices.DeleteFunc(strings.Fields(line), func(word string) bool { return word == "-" }), " ") + "\n")
	}
	return b.String()
}

// TestClustersOnATerminal checks that no line but a command is wider than the terminal, that a screen of few lines keeps
// what a person has to see, and that without color nothing is lost.
func TestClustersOnATerminal(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for width := 40; width <= 250; width++ {
		for _, wide := range []bool{false, true} {
			text := render.Clusters(fourClusters(now), render.Options{Now: now, Zone: time.UTC, Width: width, Wide: wide && width > 150})
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width && !strings.HasPrefix(line, "kubectl ") {
					t.Fatalf("%d columns, and a line has %d:\n%s", width, n, text)
				}
			}
		}
	}
	o := render.Options{Now: now, Zone: time.UTC, Width: 80, Rows: 7}
	few := render.Clusters(fourClusters(now), o)
	if strings.Count(few, "\n") > o.Rows || !strings.Contains(few, "FAILED") || !strings.Contains(few, "SILENT") || strings.Contains(few, "dev-1 ") || !strings.Contains(few, "… and 2 clusters more") {
		t.Errorf("%d lines:\n%s", strings.Count(few, "\n"), few)
	}
	o.Color = true
	colored := render.Clusters(fourClusters(now), o)
	for _, code := range []string{"\x1b[1m", "\x1b[31m", "\x1b[38;5;130m", "\x1b[36m", "\x1b[0m"} {
		colored = strings.ReplaceAll(colored, code, "")
	}
	if colored != few {
		t.Errorf("with color:\n%q\nwithout:\n%q", colored, few)
	}
}

func TestClusterChanges(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	rows := fourClusters(now).Items
	lines := render.ClusterChanges(nil, rows, now)
	if len(lines) != 4 || lines[1] != "2026-11-26T12:00:00Z prod-1 Waiting v1.34.3 (2), v1.34.4 (1), upgrade v1.34.4 1/3, NotSoaked: gate dev follows a cluster that has run v1.34.4 since a short while only" {
		t.Errorf("got %q", lines)
	}
	before := map[string]fleet.Row{}
	for _, r := range rows {
		before[r.Context] = r
	}
	later := fourClusters(now.Add(time.Minute)).Items // only ages differ
	later[0].State = fleet.StateActive
	if lines := render.ClusterChanges(before, later, now); len(lines) != 1 || !strings.HasPrefix(lines[0], "2026-11-26T12:00:00Z dev-1 Active") {
		t.Errorf("got %q", lines)
	}
}
