package view

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

// Freezes returns the exclusions of freezes that are not over, the first to end first.
func Freezes(freezes []v1alpha1.MaintenanceSchedule, now time.Time) []render.Freeze {
	var list []render.Freeze
	for _, s := range freezes {
		for _, x := range s.Spec.MaintenanceExclusions {
			if request.ExclusionOver(x, now) {
				continue
			}
			list = append(list, render.Freeze{
				Name: s.Name, From: x.StartTime.Time, Until: x.EndTime.Time, Recurrence: x.Recurrence,
				Upgrades: x.Upgrades, Nodes: selectorText(s.Spec.NodeSelector), By: cmp.Or(request.GitOwner(&s), s.Annotations[v1alpha1.RequestedByAnnotation]), Reason: x.Reason,
			})
		}
	}
	slices.SortStableFunc(list, func(a, b render.Freeze) int {
		return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.Name, b.Name))
	})
	return list
}
