package render_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// TestExpected checks what each screen says of an upgrade's end, and from what that is known.
func TestExpected(t *testing.T) {
	at := func(minutes int) *time.Time { t := now.Add(time.Duration(minutes) * time.Minute); return &t }
	clock := func(minutes int) string { return at(minutes).UTC().Format("2006-01-02 15:04 MST") }
	for _, test := range []struct {
		from *plan.Basis
		want string
	}{
		{&plan.Basis{}, clock(30) + " (in 30m), a guess: nothing like it was measured in this cluster"},
		{&plan.Basis{Nodes: 10, Upgrades: 2}, clock(30) + " (in 30m), from 10 nodes of 2 upgrades"},
		{&plan.Basis{Nodes: 1, Upgrades: 1, EarliestEnd: at(20), LatestEnd: at(50)}, "between " + clock(20) + " and " + clock(50) + " (in 50m), from 1 node of 1 upgrade"},
		{nil, clock(30) + " (in 30m)"},
	} {
		o := render.Options{Now: now, Zone: time.UTC, Cluster: "prod-eu-1"}
		u := view.Upgrade{Name: "u", Type: "Patch", From: "v1.34.3", To: "v1.34.4", TriggerTime: at(-5)}
		for name, screen := range map[string]string{
			"status": render.Screen(view.Status{Upgrade: &u, PredictedEnd: at(30), PredictedFrom: test.from}, o),
			"follow": render.Follow(view.Progress{Upgrade: u, PredictedEnd: at(30), PredictedFrom: test.from}, 0, o),
			"plan":   render.Plan(plan.Plan{PredictedStart: at(2), PredictedEnd: at(30), PredictedFrom: test.from}, &u, o),
		} {
			begins := ""
			if name == "plan" {
				begins = "begins " + clock(2) + ", "
			}
			if want := "Expected:   " + begins + "done " + test.want + "\n"; !strings.HasPrefix(screen, "Cluster:    prod-eu-1\n") || !strings.Contains(screen, want) {
				t.Errorf("%s does not begin with the cluster, or does not say %q:\n%s", name, want, screen)
			}
		}
	}
}
