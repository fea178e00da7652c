package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// NewStatus returns the values of the screen that shows the cluster. The active upgrade
// and the order of the others are the planner's.
func NewStatus(s clusterstate.Snapshot, now time.Time) Status {
	v := Status{
		APIVersion: v1alpha1.OutputVersion,
		Kind:       "UpgradeStatus",
		Schedules:  []Schedule{},
	}
	if !s.PolicyUnread {
		v.Policy = policyOf(s.Policy)
	}
	v.Nodes, v.Unmanaged = NewNodes(s)
	v.APIServers = OtherAPIServers(s, Kubelets(s, v.Unmanaged))
	if v.Policy != nil {
		var kubelets []string
		for _, n := range v.Nodes {
			kubelets = append(kubelets, n.Kubelet)
		}
		v.Policy.TakenBack = NewTakenBack(s.Policy.Status.TakenBack, kubelets)
		v.Policy.Blocked = NewBlocked(s.Policy.Spec.BlockedVersions, kubelets)
	}
	v.Problems = problems(s.Programs, v.Nodes)
	for i, u := range plan.Queue(s, now) {
		v.Approvals = append(v.Approvals, Approvals(u.ClusterUpgrade, s.Policy)...)
		if i == 0 {
			v.Upgrade = NewUpgrade(u.ClusterUpgrade)
			if v.Policy != nil {
				v.Policy.Gates = plan.Gates(s.Policy, u.Spec)
			}
			continue
		}
		v.Queued = append(v.Queued, u.Name)
	}
	if hold := plan.FailedHook(s.Policy); hold.Holds() && v.Upgrade == nil && v.Policy != nil {
		v.Policy.Problems = append(v.Policy.Problems, Problem{Reason: hold.Reason, Message: hold.Message})
	}
	v.Last = NewUpgrade(LastEnded(s.Upgrades))
	v.Upgrade.NoteBlocked(s.Policy)
	v.Last.NoteBlocked(s.Policy)
	if v.Upgrade == nil {
		v.Available = NewerPatch(s)
	}
	for _, one := range s.Schedules {
		v.Schedules = append(v.Schedules, scheduleOf(one, now))
	}
	slices.SortFunc(v.Schedules, func(a, b Schedule) int { return cmp.Compare(a.Name, b.Name) })
	return v
}

// LastEnded returns the upgrade that ended last. Nil: none has.
func LastEnded(upgrades []v1alpha1.ClusterUpgrade) *v1alpha1.ClusterUpgrade {
	var last *v1alpha1.ClusterUpgrade
	for i := range upgrades {
		u := &upgrades[i]
		if u.Status.Outcome != "" && (last == nil || last.Status.EndTime.Before(u.Status.EndTime)) {
			last = u
		}
	}
	return last
}

// NewUpgrade returns the values of an upgrade. Nil: there is none.
func NewUpgrade(u *v1alpha1.ClusterUpgrade) *Upgrade {
	if u == nil {
		return nil
	}
	v := &Upgrade{
		Name:         u.Name,
		Type:         cmp.Or(u.Status.Type, u.Spec.Type),
		From:         u.Status.FromVersion,
		To:           u.Spec.Version,
		Progress:     u.Status.Progress,
		TriggerTime:  clusterstate.Instant(u.Status.TriggerTime),
		EndTime:      clusterstate.Instant(u.Status.EndTime),
		Outcome:      u.Status.Outcome,
		Stalled:      u.Status.Stalled(),
		Suspended:    u.Spec.Suspend,
		RequestedBy:  requestedBy(u.Annotations[v1alpha1.RequestedByAnnotation], u.Annotations[v1alpha1.CreatedByAnnotation]),
		Comment:      u.Spec.Comment,
		People:       People{ApprovedBy: u.Spec.Approved.By},
		IgnoreChecks: u.Spec.IgnoreChecks,
		IgnoreGates:  u.Spec.IgnoreGates,
		NamesNodes:   u.Spec.NodeSelector.NamesNodes(),
	}
	v.Changed, v.ChangedBy = u.Changed()
	v.Reason, v.Message = u.Status.Explain()
	return v
}

func scheduleOf(m v1alpha1.MaintenanceSchedule, now time.Time) Schedule {
	v := Schedule{Name: m.Name, State: cmp.Or(m.Status.State, "Unknown"), Until: clusterstate.Instant(m.Status.UntilTime)}
	if c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionValid); c != nil && c.Status == metav1.ConditionFalse {
		v.State, v.Until, v.Message = "Invalid", nil, c.Message
	}
	if v.State == schedule.StateExcluded {
		m.Spec.NodeSelector = nil // of whichever nodes
		v.Message = schedule.NewMoment([]v1alpha1.MaintenanceSchedule{m}, now).IgnoringWindows(nil, "").Why
	}
	return v
}

// requestedBy returns who requested an upgrade: a user, or the policy. Empty: that is not
// known.
func requestedBy(user, createdBy string) string {
	if createdBy == v1alpha1.CreatedByCoordinator {
		return "the UpgradePolicy"
	}
	return user
}

// problemConditions are conditions of the policy, with the status that reports a problem.
var problemConditions = []struct {
	kind         string
	status       metav1.ConditionStatus
	holdsNothing bool
}{
	{v1alpha1.ConditionValid, metav1.ConditionFalse, false},
	{v1alpha1.ConditionSourceReady, metav1.ConditionFalse, false},
	{v1alpha1.ConditionWriteFailed, metav1.ConditionTrue, false},
	{v1alpha1.ConditionAutomaticHeld, metav1.ConditionTrue, false},
	{v1alpha1.ConditionNoticesFailed, metav1.ConditionTrue, true},
	{v1alpha1.ConditionSilencesFailed, metav1.ConditionTrue, true},
	{v1alpha1.ConditionMetricsFailed, metav1.ConditionTrue, true},
}

func policyOf(p *v1alpha1.UpgradePolicy) *Policy {
	if p == nil {
		return nil
	}
	v := &Policy{Mode: p.Spec.Mode, VersionsFrom: p.Spec.VersionsFrom, Automatic: p.Spec.Automatic, Version: p.Status.Version, Source: p.Spec.Source.URL}
	for _, one := range problemConditions {
		c := meta.FindStatusCondition(p.Status.Conditions, one.kind)
		if c == nil || c.Status != one.status {
			continue
		}
		problem := Problem{Reason: v1alpha1.Reason(c.Reason), HoldsNothing: one.holdsNothing}
		problem.Message, _, _ = strings.Cut(c.Message, "\n") // a manifest that solves it may follow
		if one.kind == v1alpha1.ConditionAutomaticHeld && !problem.Reason.Info().NeedsPerson {
			v.AutomaticHeld = &problem
			continue
		}
		if !slices.Contains(v.Problems, problem) { // both may say what is wrong with the source
			v.Problems = append(v.Problems, problem)
		}
	}
	return v
}

// Approvals returns those that the upgrade lacks. A group's counts once the upgrade
// has begun.
func Approvals(u *v1alpha1.ClusterUpgrade, policy *v1alpha1.UpgradePolicy) (missing []Approval) {
	var defaults v1alpha1.Strategy
	if policy != nil {
		defaults = policy.Spec.Strategy
	}
	strategy, given := u.Status.Strategy.Or(u.Resolve(defaults)), u.Spec.Approved
	if strategy.Approval == v1alpha1.ApprovalRequired && !given.Upgrade {
		return []Approval{approval(u, "")}
	}
	for _, group := range strategy.Groups {
		if u.Status.TriggerTime != nil && group.Approval == v1alpha1.ApprovalRequired && !slices.Contains(given.Groups, group.Name) {
			missing = append(missing, approval(u, group.Name))
		}
	}
	return missing
}

func approval(u *v1alpha1.ClusterUpgrade, group string) Approval {
	command := "kubectl upgrade approve " + u.Name
	if group != "" {
		command += " --group " + group
	}
	return Approval{Upgrade: u.Name, Group: group, Command: command}
}

// Forecaster predicts when the nodes of an upgrade go, from our own objects and Nodes
// alone: all who may see the upgrade see the same forecast.
type Forecaster struct {
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
func (f *Forecaster) Plan(s clusterstate.Snapshot, name string, changed bool, now time.Time) plan.Plan {
	f.stale = f.stale || changed
	age := now.Sub(f.at)
	if f.upgrade != name || age < 0 || age >= oldForecast || f.stale && age >= youngForecast {
		f.plan, f.upgrade, f.at, f.stale = forecast(s, name, now), name, now, false
	}
	return f.plan
}

// Predict adds when the active upgrade is expected to end. The snapshot should have the records of earlier ones.
func (v *Status) Predict(s clusterstate.Snapshot, now time.Time) {
	if v.Upgrade != nil {
		p := forecast(s, v.Upgrade.Name, now)
		v.PredictedEnd, v.PredictedFrom = clusterstate.UTC(p.PredictedEnd), p.PredictedFrom
	}
}

// TypesText returns the types of upgrade that an exclusion is for: all, "all but Certificates", or their names.
func TypesText(types []v1alpha1.UpgradeType) string {
	var names []string
	for _, t := range types {
		names = append(names, string(t))
	}
	lacks := func(t v1alpha1.UpgradeType) bool { return !slices.Contains(types, t) }
	switch {
	case len(types) == 0:
		return "all"
	case !slices.ContainsFunc(request.AllButCertificates(), lacks) && lacks(v1alpha1.TypeCertificates):
		return "all but Certificates"
	}
	return strings.Join(names, ",")
}

func forecast(s clusterstate.Snapshot, name string, now time.Time) plan.Plan {
	u := s.Upgrade(name)
	if u == nil || u.Status.Outcome != "" {
		return plan.Plan{}
	}
	if u.Status.PreflightTime != nil {
		s.Preflight = &clusterstate.Preflight{Upgrade: u.Reference(), At: u.Status.PreflightTime.Time, Findings: u.Status.Findings}
	}
	if p := plan.Predict(s, now); p.Upgrade == name {
		return p
	}
	return plan.Plan{}
}

// NewFreezes returns the exclusions of freezes that are not over, the first to end first.
func NewFreezes(freezes []v1alpha1.MaintenanceSchedule, now time.Time) []Freeze {
	var list []Freeze
	for _, s := range freezes {
		for _, x := range s.Spec.MaintenanceExclusions {
			if request.ExclusionOver(x, now) {
				continue
			}
			list = append(list, Freeze{
				Name: s.Name, From: x.StartTime.Time, Until: x.EndTime.Time, Recurrence: x.Recurrence,
				Upgrades: x.UpgradeTypes, Nodes: SelectorText(s.Spec.NodeSelector), By: cmp.Or(request.GitOwner(&s), s.Annotations[v1alpha1.RequestedByAnnotation]), Reason: x.Comment,
			})
		}
	}
	slices.SortStableFunc(list, func(a, b Freeze) int {
		return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.Name, b.Name))
	})
	return list
}
