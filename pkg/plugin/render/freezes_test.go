package render_test

import (
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

func TestFreezes(t *testing.T) {
	freezes := []view.Freeze{
		{Name: "incident-4711", From: now, Until: now.Add(4 * time.Hour), Upgrades: []v1alpha1.UpgradeType{"Patch", "Minor", "Reboot", "Rollback"}, By: "alice", Reason: "the load balancer drops connections"},
		{Name: "quarter", From: now, Until: now.Add(14 * 24 * time.Hour), Upgrades: []v1alpha1.UpgradeType{"Minor", "Reboot"}, Nodes: "pool=db", By: "Flux Kustomization flux-system/apps", Reason: "accounts are closed"},
		{Name: "christmas", From: now, Until: now.Add(time.Hour), Recurrence: "FREQ=YEARLY"},
	}
	o := render.Options{Now: now, Zone: time.UTC}
	golden(t, "freezes", render.Freezes(freezes, o))
	o.Width = 80
	golden(t, "freezes-80", render.Freezes(freezes, o))
}
