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
		return cmp.Or(a.Spec.EndTime.Compare(b.Spec.EndTime.Time), cmp.Compare(a.Name, b.Name))
	})
	for i := range records {
		record := &records[i]
		if record.Spec.TriggerTime == nil {
			continue
		}
		forget := func(v string) {
			list = slices.DeleteFunc(list, func(one v1alpha1.TakenBackVersion) bool { return one.Version == v })
		}
		if record.Spec.Type != v1alpha1.TypeRollback {
			if slices.ContainsFunc(record.Spec.IgnoreChecks, func(c v1alpha1.IgnoredCheck) bool { return c.ID == preflight.VersionBlocked }) {
				forget(record.Spec.Version)
			}
			continue
		}
		back := target{back: true, to: parsed(record.Spec.Version)}
		versions := []string{record.Spec.FromVersion}
		for _, n := range record.Spec.Nodes {
			versions = append(versions, n.From)
		}
		slices.Sort(versions)
		for _, v := range slices.Compact(versions) {
			if back.isTakenBack(parsed(v)) {
				forget(v)
				list = append(list, v1alpha1.TakenBackVersion{Version: v, Upgrade: record.Spec.Upgrade, Time: *record.Spec.TriggerTime, Comment: shorten(record.Spec.Comment, maxReason)})
			}
		}
	}
	return list[max(0, len(list)-maxTakenBack):]
}
