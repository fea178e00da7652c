package request

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Refuse returns why the upgrade is not begun. s is a snapshot in which Suppose put it,
// and decided the plan for that.
func Refuse(s fleet.Snapshot, decided plan.Plan, u *v1alpha1.ClusterUpgrade) error {
	return cmp.Or(
		refuseStep(s, u),
		refuseMethod(s, u),
		refuseTrigger(decided, u),
		refuseFindings(decided.Findings, u),
		refuseFreeze(s, decided, u),
	)
}

// refuseStep refuses a step that Kubernetes does not allow.
func refuseStep(s fleet.Snapshot, u *v1alpha1.ClusterUpgrade) error {
	to, err := version.Parse(u.Spec.Version)
	if err != nil {
		return err
	}
	for _, server := range s.APIServers {
		from, err := version.Parse(server.Version)
		if err != nil {
			continue // the plan reports it
		}
		var refused *version.Refusal
		if !errors.As(version.CheckStep(from, to), &refused) {
			continue
		}
		switch refused.Rule {
		case version.RuleSkippedMinor:
			return fmt.Errorf("from %s to %s skips a minor, and kubeadm upgrades one minor at a time: `kubectl upgrade apply v%d.%d` first", from, to, from.Major, from.Minor+1)
		case version.RuleDowngrade:
			return fmt.Errorf("the cluster runs %s, and Kubernetes cannot be downgraded to %s; `kubectl upgrade releases` lists what is available", from, to)
		}
		return fmt.Errorf("%w; `kubectl upgrade releases` lists what is available", refused)
	}
	return nil
}

// refuseMethod refuses a minor by method Restart.
func refuseMethod(s fleet.Snapshot, u *v1alpha1.ClusterUpgrade) error {
	to, err := version.Parse(u.Spec.Version)
	if err != nil || u.Spec.Strategy.Method != v1alpha1.MethodRestart {
		return err
	}
	for _, server := range s.APIServers {
		if from, err := version.Parse(server.Version); err == nil && !from.SameLine(to) {
			return fmt.Errorf("from %s to %s is a Minor, and --method Restart is for patches: leave it out, or say --method Reboot or SoftReboot", from, to)
		}
	}
	return nil
}

// refuseTrigger refuses an upgrade that the coordinator would not begin until a person
// solves a problem.
func refuseTrigger(decided plan.Plan, u *v1alpha1.ClusterUpgrade) error {
	status := statusOf(decided)
	if status == nil || status.TriggerTime != nil || !status.Stalled() {
		return nil
	}
	reason, message := status.Explain()
	if reason == v1alpha1.ReasonNotOffered {
		return fmt.Errorf("%s; `kubectl upgrade releases` lists what is available", message)
	}
	return fmt.Errorf("the coordinator would not begin with it: %s: %s; `kubectl upgrade plan %s` shows more", reason, message, u.Spec.Version)
}

// refuseFindings refuses what a check blocks and --ignore-check does not name.
func refuseFindings(findings []v1alpha1.Finding, u *v1alpha1.ClusterUpgrade) error {
	var first *v1alpha1.Finding
	var ids []string
	for _, check := range u.Spec.IgnoreChecks { // the hint repeats them
		ids = append(ids, check.ID)
	}
	count := 0
	for i, f := range findings {
		if f.Level != v1alpha1.LevelBlock || f.Ignored {
			continue
		}
		count++
		if first == nil {
			first = &findings[i]
		}
		if !slices.Contains(ids, f.ID) {
			ids = append(ids, f.ID)
		}
	}
	if first == nil {
		return nil
	}
	more := ""
	if count > 1 {
		more = fmt.Sprintf("; and %d more", count-1)
	}
	what := fmt.Sprintf("preflight blocks: %s: %s%s; fix that", first.ID, strings.TrimSuffix(first.Message, "."), more)
	if slices.ContainsFunc(ids, func(id string) bool { return !preflight.Ignorable(id) }) {
		return errors.New(what)
	}
	return fmt.Errorf("%s, or ignore it: `kubectl upgrade apply %s --ignore-check %s`", what, u.Spec.Version, strings.Join(ids, ","))
}

// refuseFreeze refuses an exclusion that holds for every node when the upgrade could
// begin. One that holds for some nodes does not keep the others from going.
func refuseFreeze(s fleet.Snapshot, decided plan.Plan, u *v1alpha1.ClusterUpgrade) error {
	at, kind := earliestStart(s, u), v1alpha1.UpgradeType("")
	if status := statusOf(decided); status != nil {
		kind = status.Type
	}
	schedules := schedule.NewMoment(s.Schedules, at)
	var held schedule.Verdict
	for _, n := range decided.Nodes {
		if !IsToGo(n) {
			continue
		}
		i := slices.IndexFunc(s.Nodes, func(one fleet.Node) bool { return one.Name == n.Name })
		verdict := schedules.IgnoringWindows(s.Nodes[i].Labels, kind)
		if verdict.Reason != v1alpha1.ReasonExcluded {
			return nil
		}
		held = verdict
	}
	if held.Reason == "" {
		return nil
	}
	next := "wait until it ends, give a --start-time after it, or end it: `kubectl upgrade unfreeze`"
	if u.Spec.IgnoreWindows {
		next = "--ignore-windows does not ignore exclusions: " + next
	}
	return fmt.Errorf("%s; %s", strings.TrimSuffix(held.Message, "."), next)
}

// earliestStart returns when a supposed upgrade could begin at the earliest.
func earliestStart(s fleet.Snapshot, u *v1alpha1.ClusterUpgrade) time.Time {
	at := time.Time{}
	for _, one := range s.Upgrades {
		if one.Name == supposed {
			at = one.CreationTimestamp.Time
		}
	}
	if start := u.Spec.StartTime; start != nil && start.After(at) {
		return start.Time
	}
	return at
}
