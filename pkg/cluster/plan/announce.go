package plan

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// When an automatic upgrade starts: noticeSeconds after it is created, and minIntervalSeconds after
// the last one ended.

// unlessTooSoon returns the upgrade u with its start time, or why it is not created yet.
func (c *cluster) unlessTooSoon(u *v1alpha1.ClusterUpgrade, wanted *v1alpha1.AutomaticUpgrade, wake *wakeTime) (*v1alpha1.ClusterUpgrade, fleet.Hold) {
	notice := seconds(wanted.NoticeSeconds)
	if hold := c.reading.interval(wanted, c.now.Add(notice)); hold.Holds() {
		hold.Until = new(hold.Until.Add(-notice))
		wake.at(hold.Until)
		return nil, hold
	}
	if notice > 0 {
		u.Spec.StartTime = &metav1.Time{Time: c.now.UTC().Truncate(time.Second).Add(notice)}
	}
	return u, fleet.Hold{}
}

// tooSoon holds an automatic upgrade that was created before the last one ended, and is not triggered.
func tooSoon(r *reading, t *target) fleet.Hold {
	kind := TypeOf(t.ClusterUpgrade)
	wanted := r.automaticSpec(kind)
	if wanted == nil || !isAutomatic(kind, t.Annotations[v1alpha1.CreatedByAnnotation], t.Name, t.Spec.Version) {
		return fleet.Hold{}
	}
	start := r.now
	if announced := t.Spec.StartTime; announced != nil && announced.After(start) {
		start = announced.Time
	}
	return r.interval(wanted, start)
}

// interval holds an automatic upgrade of that type that would start too soon after the last one ended.
func (r *reading) interval(wanted *v1alpha1.AutomaticUpgrade, start time.Time) fleet.Hold {
	last, ended := r.lastAutomatic(wanted.Type)
	least := seconds(wanted.MinIntervalSeconds)
	earliest := ended.Add(least)
	if last == "" || least == 0 || !start.Before(earliest) {
		return fleet.Hold{}
	}
	message := fmt.Sprintf("the next automatic %s may start %s: %s ended %s, and minIntervalSeconds is %d", wanted.Type, fleet.FormatTime(earliest), last, fleet.FormatTime(ended), *wanted.MinIntervalSeconds)
	return fleet.Hold{Reason: v1alpha1.ReasonAutomaticInterval, Message: message, Until: &earliest}
}

// lastAutomatic returns the automatic upgrade of that type that ended last, and when; empty: none has.
// A superseded one does not count.
func (r *reading) lastAutomatic(kind v1alpha1.UpgradeType) (name string, ended time.Time) {
	note := func(upgrade, createdBy, version string, outcome v1alpha1.Outcome, at *metav1.Time) {
		if outcome != "" && outcome != v1alpha1.OutcomeSuperseded && at != nil && at.After(ended) && isAutomatic(kind, createdBy, upgrade, version) {
			name, ended = upgrade, at.Time
		}
	}
	for i := range r.snapshot.Upgrades {
		u := &r.snapshot.Upgrades[i]
		note(u.Name, u.Annotations[v1alpha1.CreatedByAnnotation], u.Spec.Version, u.Status.Outcome, u.Status.CompletionTime)
	}
	for i := range r.snapshot.Records {
		record := &r.snapshot.Records[i]
		note(record.Upgrade.Name, record.CreatedBy, record.Version, record.Outcome, &record.CompletionTime)
	}
	return name, ended
}

// isAutomatic reports whether the policy's `automatic` asked for the upgrade of that type. The upgrade of
// a late control plane has another name.
func isAutomatic(kind v1alpha1.UpgradeType, createdBy, name, to string) bool {
	switch {
	case createdBy != v1alpha1.CreatedByCoordinator:
		return false
	case kind == v1alpha1.TypeReboot:
		return to == ""
	}
	return to != "" && name == parsed(to).Name()
}
