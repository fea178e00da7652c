package plan

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// maxFindings is the API's limit on the findings that a status lists.
const maxFindings = 128

// noteFindings writes the report into the upgrade's status, unless that has a later
// one.
func (k checks) noteFindings(u *v1alpha1.ClusterUpgrade) {
	report := k.lastReport
	if report == nil {
		return
	}
	at := metav1.NewMicroTime(report.At.UTC().Truncate(time.Microsecond))
	if last := u.Status.PreflightTime; last != nil && !last.Before(&at) {
		return
	}
	u.Status.PreflightTime, u.Status.Findings = &at, bounded(withIgnored(report.Findings, u.Status.Findings))
}

// withIgnored adds the findings that were ignored before and are not found any more,
// after those that block now: the record must list them.
func withIgnored(found, before []v1alpha1.Finding) []v1alpha1.Finding {
	list := slices.Clone(found)
	for _, was := range before {
		again := func(f v1alpha1.Finding) bool { return f.ID == was.ID && f.Object == was.Object && f.Node == was.Node }
		if !was.Ignored || was.Level != v1alpha1.LevelBlock || slices.ContainsFunc(list, again) {
			continue
		}
		at := slices.IndexFunc(list, func(f v1alpha1.Finding) bool { return f.Level != v1alpha1.LevelBlock })
		if at < 0 {
			at = len(list)
		}
		list = slices.Insert(list, at, was)
	}
	return list
}

// bounded returns the findings within the API's limits.
func bounded(findings []v1alpha1.Finding) []v1alpha1.Finding {
	list := slices.Clone(preflight.Bound(findings, maxFindings))
	list = list[:min(len(list), maxFindings)]
	for i := range list {
		list[i].Message, list[i].Advice = clip(list[i].Message), clip(list[i].Advice)
	}
	return list
}
