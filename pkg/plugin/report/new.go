package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// New returns the report of the upgrade with that name, as it is at an instant.
func New(s fleet.Snapshot, name string, at time.Time) (*Report, error) {
	about, err := find(s, name)
	if err != nil {
		return nil, err
	}
	at = at.UTC().Truncate(time.Second)
	b := &builder{
		subject: about, snapshot: s, at: at,
		report: &Report{APIVersion: v1alpha1.GroupVersion.String(), Kind: Kind, GeneratedTime: at},
	}
	b.addUpgrade()
	b.addUsual()
	b.addPlan()
	b.addNodes()
	b.addCalendars()
	b.addWaits()
	b.addNotes()
	return b.report, nil
}

// builder builds a Report.
type builder struct {
	subject
	snapshot fleet.Snapshot
	at       time.Time
	expected plan.Plan // zero for an upgrade that has ended, or is not the active one
	report   *Report
	invalid  error // why a schedule is invalid
}

// subject is the upgrade that the report is about.
type subject struct {
	upgrade *v1alpha1.ClusterUpgrade // nil: it was deleted
	record  []v1alpha1.UpgradeRecord // its pieces in order; nil: there is none
	others  int                      // how many other upgrades have had the name
}

// find returns the upgrade with that name; of several the newest.
func find(s fleet.Snapshot, name string) (found subject, err error) {
	byUID := map[string][]v1alpha1.UpgradeRecord{}
	latest, latestUID := time.Time{}, ""
	for _, r := range s.Records {
		if r.Upgrade.Name != name {
			continue
		}
		byUID[r.Upgrade.UID] = append(byUID[r.Upgrade.UID], r)
		if latestUID == "" || r.CompletionTime.After(latest) {
			latest, latestUID = r.CompletionTime.Time, r.Upgrade.UID
		}
	}
	for i := range s.Upgrades {
		if u := &s.Upgrades[i]; u.Name == name {
			found.upgrade, latestUID = u, string(u.UID)
		}
	}
	if latestUID == "" && found.upgrade == nil {
		return found, fmt.Errorf("there is no upgrade %q; `kubectl upgrade history` lists those that have ended, and `kubectl upgrade status` shows the others", name)
	}
	found.record = byUID[latestUID]
	delete(byUID, latestUID)
	found.others = len(byUID)
	slices.SortFunc(found.record, func(a, b v1alpha1.UpgradeRecord) int { return int(a.Piece - b.Piece) })
	return found, nil
}

// addPlan predicts the rest of an upgrade that has not ended.
func (b *builder) addPlan() {
	if b.report.Upgrade.Ended() {
		return
	}
	if u := b.upgrade; b.snapshot.Preflight == nil && u.Status.PreflightTime != nil {
		b.snapshot.Preflight = &fleet.Preflight{Upgrade: u.Reference(), At: u.Status.PreflightTime.Time, Findings: u.Status.Findings}
	}
	if p := plan.Predict(b.snapshot, b.at); p.Upgrade == b.upgrade.Name {
		b.expected = p
		b.report.Upgrade.PredictedEndTime = utc(p.PredictedEnd)
	}
}

// addUsual adds the durations that were expected when the upgrade began.
func (b *builder) addUsual() {
	before := b.at
	if start := b.report.Upgrade.StartTime; start != nil {
		before = *start
	}
	usual := plan.UsualDurations(b.snapshot, before)
	b.report.Usual = Usual{
		ComponentsSeconds: wholeSeconds(usual.Components), ControlPlaneSeconds: wholeSeconds(usual.ControlPlane),
		WorkerSeconds: wholeSeconds(usual.Worker), RestartSeconds: wholeSeconds(usual.Restart), SoftRebootSeconds: wholeSeconds(usual.SoftReboot),
	}
}
