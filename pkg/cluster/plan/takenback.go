package plan

import (
	"cmp"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// TakenBackByRecords returns what Rollbacks have taken back by their records, without what was requested again. A
// policy that is deleted and created again has it from there.
func TakenBackByRecords(records []v1alpha1.UpgradeRecord) (list []v1alpha1.TakenBackVersion) {
	records = slices.SortedFunc(slices.Values(records), func(a, b v1alpha1.UpgradeRecord) int {
		return cmp.Or(a.CompletionTime.Compare(b.CompletionTime.Time), cmp.Compare(a.Name, b.Name))
	})
	for i := range records {
		record := &records[i]
		if record.TriggerTime == nil {
			continue
		}
		forget := func(v string) {
			list = slices.DeleteFunc(list, func(one v1alpha1.TakenBackVersion) bool { return one.Version == v })
		}
		if record.Type != v1alpha1.TypeRollback {
			if slices.ContainsFunc(record.IgnoreChecks, func(c v1alpha1.IgnoredCheck) bool { return c.ID == preflight.VersionBlocked }) {
				forget(record.Version)
			}
			continue
		}
		back := target{back: true, to: parsed(record.Version)}
		versions := []string{record.FromVersion}
		for _, n := range record.Nodes {
			versions = append(versions, n.From)
		}
		slices.Sort(versions)
		for _, v := range slices.Compact(versions) {
			if back.isTakenBack(parsed(v)) {
				forget(v)
				list = append(list, v1alpha1.TakenBackVersion{Version: v, Upgrade: record.Upgrade, Time: *record.TriggerTime, Comment: shorten(record.Comment, maxReason)})
			}
		}
	}
	return list[max(0, len(list)-maxTakenBack):]
}
