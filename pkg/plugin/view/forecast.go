package view

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Forecaster predicts when the nodes of an upgrade go, from our own objects and Nodes
// alone: all who may see the upgrade see the same forecast.
type Forecaster struct {
	// Records say how long nodes took before.
	Records []v1alpha1.UpgradeRecord

	plan    plan.Plan
	upgrade string
	at      time.Time
	stale   bool
}

// How old a forecast may get: for a large cluster, one takes a while.
const (
	oldForecast   = 5 * time.Second
	youngForecast = time.Second
)

// Plan returns the plan for the upgrade with that name, which is empty where another
// one is active. changed reports whether the objects are other ones than in the last
// call.
func (f *Forecaster) Plan(o Objects, name string, changed bool, now time.Time) plan.Plan {
	f.stale = f.stale || changed
	age := now.Sub(f.at)
	if f.upgrade != name || age < 0 || age >= oldForecast || f.stale && age >= youngForecast {
		f.plan, f.upgrade, f.at, f.stale = forecast(o, f.Records, name, now), name, now, false
	}
	return f.plan
}

func forecast(o Objects, records []v1alpha1.UpgradeRecord, name string, now time.Time) plan.Plan {
	u := o.Upgrade(name)
	if u == nil || u.Status.Outcome != "" {
		return plan.Plan{}
	}
	s := o.Snapshot()
	s.Records = records
	if u.Status.PreflightTime != nil {
		s.Preflight = &fleet.Preflight{Upgrade: u.Reference(), At: u.Status.PreflightTime.Time, Findings: u.Status.Findings}
	}
	if p := plan.Predict(s, now); p.Upgrade == name {
		return p
	}
	return plan.Plan{}
}
