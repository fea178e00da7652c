package report

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// start returns when the report begins: at the trigger, or else with the first step.
func (b *builder) start() time.Time {
	if start := b.report.Upgrade.StartTime; start != nil {
		return *start
	}
	start := b.end()
	for i := range b.report.Nodes {
		for _, step := range b.report.Nodes[i].Steps {
			start = earlier(start, step.Start)
		}
	}
	return start
}

// addNotes adds what is not known.
func (b *builder) addNotes() {
	note := func(format string, args ...any) {
		b.report.Notes = append(b.report.Notes, fmt.Sprintf(format, args...))
	}
	r := b.report
	if b.upgrade == nil {
		note("ClusterUpgrade %s was deleted: its findings, its images and its strategy are not known.", r.Upgrade.Name)
	}
	switch ended := r.Upgrade.Ended(); {
	case ended && len(b.record) == 0:
		note("There is no record of the nodes: it was removed, as historyLimit of the UpgradePolicy says how many are kept.")
	case ended && len(b.record) < int(b.record[0].Pieces):
		note("The record of the nodes is not complete: %d of its %d objects were found.", len(b.record), b.record[0].Pieces)
	}
	if b.others > 0 {
		note("%d earlier upgrades with this name are left out; `kubectl upgrade history %s` shows them.", b.others, r.Upgrade.Name)
	}
	if b.invalid != nil {
		note("Windows are not shown, because a schedule is invalid now: %s.", b.invalid)
	} else if len(b.snapshot.Schedules) > 0 {
		note("Windows and exclusions are those of the schedules that existed when this report was made.")
	}
	if b.isDerived() {
		note("Why a node waited is derived from the windows and from the times of the other nodes; a suspension or a missing approval is not recorded.")
	}
	if r.Upgrade.Changed && r.Upgrade.ChangedBy == "" {
		note("The upgrade was changed after it was created, and who did that last is not recorded: it was not changed by `kubectl upgrade`, but for example from Git. The API server's audit log has it.")
	}
	if r.Upgrade.RequestedBy == "" {
		note("Who requested the upgrade is not known: it was not created by `kubectl upgrade apply`, but for example from Git.")
	}
}

// isDerived reports whether a cause of a wait was derived.
func (b *builder) isDerived() bool {
	for i := range b.report.Nodes {
		for _, w := range b.report.Nodes[i].Waits {
			if w.Derived {
				return true
			}
		}
	}
	return false
}

// Unknown returns the reason for people: one that is empty is not known.
func Unknown(reason v1alpha1.Reason) string {
	if reason == "" {
		return "Unknown"
	}
	return string(reason)
}
