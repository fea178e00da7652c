package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// refusal is why the upgrade is not begun, in one line with what to do. s has the
// upgrade that is wanted among its own.
func (a *apply) refusal(s fleet.Snapshot, decided plan.Plan, wanted *v1alpha1.ClusterUpgrade) error {
	for _, refuse := range []func() error{
		func() error { return refuseStep(s, wanted) },
		func() error { return refuseMethod(s, wanted) },
		func() error { return refuseTrigger(decided, wanted) },
		func() error { return refuseFindings(decided.Findings, wanted) },
		func() error { return refuseFreeze(s, decided, wanted) },
	} {
		if err := refuse(); err != nil {
			return err
		}
	}
	return nil
}

// refuseStep is for a way that Kubernetes does not allow.
func refuseStep(s fleet.Snapshot, wanted *v1alpha1.ClusterUpgrade) error {
	to, err := version.Parse(wanted.Spec.Version)
	if err != nil {
		return err
	}
	for _, server := range s.APIServers {
		from, err := version.Parse(server.Version)
		if err != nil {
			continue // the planner tells
		}
		var refused *version.Refusal
		if !errors.As(version.CheckStep(from, to), &refused) {
			continue
		}
		switch refused.Rule {
		case version.RuleSkippedMinor:
			return fmt.Errorf("from %s to %s skips a minor, and kubeadm goes one at a time: `kubectl upgrade apply v%d.%d` first", from, to, from.Major, from.Minor+1)
		case version.RuleDowngrade:
			return fmt.Errorf("the cluster runs %s, and Kubernetes cannot be downgraded to %s; `kubectl upgrade releases` shows what is on offer", from, to)
		}
		return fmt.Errorf("%w; `kubectl upgrade releases` shows what is on offer", refused)
	}
	return nil
}

// refuseMethod is for a minor that shall come without a reboot.
func refuseMethod(s fleet.Snapshot, wanted *v1alpha1.ClusterUpgrade) error {
	to, err := version.Parse(wanted.Spec.Version)
	if err != nil || wanted.Spec.Strategy.Method != v1alpha1.MethodRestart {
		return err
	}
	for _, server := range s.APIServers {
		if from, err := version.Parse(server.Version); err == nil && !from.SameLine(to) {
			return fmt.Errorf("from %s to %s is a Minor, and --method Restart is for patches: leave it out, or say --method Reboot", from, to)
		}
	}
	return nil
}

// refuseTrigger is for what the coordinator would not begin with until a person
// acts, beyond what people do about an upgrade that is there, such as to approve it.
func refuseTrigger(decided plan.Plan, wanted *v1alpha1.ClusterUpgrade) error {
	status := statusOf(decided)
	if status == nil || status.TriggerTime != nil || !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled) {
		return nil
	}
	why := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSucceeded)
	if v1alpha1.Reason(why.Reason).Info().HeldByPeople {
		return nil
	}
	if why.Reason == string(v1alpha1.ReasonNotOffered) {
		return fmt.Errorf("%s; `kubectl upgrade releases` shows what is on offer", why.Message)
	}
	return fmt.Errorf("the coordinator would not begin with it: %s: %s; `kubectl upgrade plan %s` shows more", why.Reason, why.Message, wanted.Spec.Version)
}

// refuseFindings is for what preflight found and was not let through.
func refuseFindings(findings []v1alpha1.Finding, wanted *v1alpha1.ClusterUpgrade) error {
	var first *v1alpha1.Finding
	var ids []string
	for _, check := range wanted.Spec.IgnoreChecks { // else the hint's line would be held up by these
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
	what := fmt.Sprintf("preflight blocks: %s: %s%s; mend that", first.ID, strings.TrimSuffix(first.Message, "."), more)
	if inVain := func(id string) bool { return !preflight.IgnoringHelps(id) }; slices.ContainsFunc(ids, inVain) {
		return errors.New(what)
	}
	return fmt.Errorf("%s, or if you know better `kubectl upgrade apply %s --ignore-check %s`", what, wanted.Spec.Version, strings.Join(ids, ","))
}

// refuseFreeze is for an exclusion that holds for every node when the upgrade
// could begin. One that holds for some nodes lets the others go.
func refuseFreeze(s fleet.Snapshot, decided plan.Plan, wanted *v1alpha1.ClusterUpgrade) error {
	at, kind := decidedAt(s, wanted), v1alpha1.UpgradeType("")
	if status := statusOf(decided); status != nil {
		kind = status.Type
	}
	moment := schedule.Look(s.Schedules, at)
	var held schedule.Verdict
	for _, n := range decided.Nodes {
		if !isToGo(n) {
			continue
		}
		i := slices.IndexFunc(s.Nodes, func(one fleet.Node) bool { return one.Name == n.Name })
		verdict := moment.IgnoringWindows(s.Nodes[i].Labels, kind)
		if verdict.Reason != v1alpha1.ReasonExcluded {
			return nil
		}
		held = verdict
	}
	if held.Reason == "" {
		return nil
	}
	next := "wait for its end, give a --start-time after it, or end it: `kubectl upgrade unfreeze`"
	if wanted.Spec.IgnoreWindows {
		next = "--ignore-schedule does not get past it: " + next
	}
	return fmt.Errorf("%s; %s", strings.TrimSuffix(held.Message, "."), next)
}

// statusOf is the status that the upgrade of the plan should have.
func statusOf(decided plan.Plan) *v1alpha1.ClusterUpgradeStatus {
	for i := range decided.Statuses {
		if decided.Statuses[i].Name == decided.Upgrade {
			return &decided.Statuses[i].Status
		}
	}
	return nil
}
