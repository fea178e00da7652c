package render

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// TestGates checks the lines about gates in the screens of plan and status, and what an upgrade
// ignores.
func TestGates(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	since, asked := now.Add(-3*time.Minute), now.Add(-8*time.Second)
	gates := []plan.GateAnswer{
		{Name: "alerts", State: v1alpha1.GateClosed, Message: "the query returns 1 result", Since: &since, Asked: &asked},
		{Name: "database", State: v1alpha1.GateOpen, Message: "all 3 objects meet the condition", Since: &since, Asked: &asked},
		{Name: "backup"},
		{Name: "quiet", State: v1alpha1.GateUnknown, Message: "no answer within 5s", Since: &since, Asked: &asked, Ignored: true},
	}
	o := Options{Now: now, Zone: time.UTC}
	want := `Gates:      alerts: Closed for 3m, asked 8s ago; the query returns 1 result
            database: Open for 3m, asked 8s ago; all 3 objects meet the condition
            backup: not asked yet
            quiet: Unknown for 3m, asked 8s ago, ignored; no answer within 5s
`
	if got := o.titles(gateRows(gates, o)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	upgrade := &view.Upgrade{
		Name: "v1.34.4", To: "v1.34.4", IgnoreChecks: []v1alpha1.IgnoredCheck{{ID: "bare-pod", Comment: "batch jobs"}},
		IgnoreGates: []v1alpha1.IgnoredGate{{Name: "quiet", Comment: "at night", By: "alice"}},
	}
	for name, screen := range map[string]string{
		"plan":   Plan(plan.Plan{Gates: gates}, upgrade, o),
		"status": Screen(view.Status{Upgrade: upgrade, Policy: &view.Policy{Gates: gates}}, o),
	} {
		if !strings.Contains(screen, want) {
			t.Errorf("%s does not show the gates:\n%s", name, screen)
		}
	}
	if screen := Screen(view.Status{Upgrade: upgrade}, o); !strings.Contains(screen, "Ignored:    bare-pod (batch jobs), gate quiet (at night) by alice\n") {
		t.Errorf("status does not show what is ignored:\n%s", screen)
	}
}
