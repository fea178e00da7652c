package view

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
)

// problemConditions are conditions of the policy, with the status that reports a problem.
var problemConditions = []struct {
	kind   string
	status metav1.ConditionStatus
}{
	{v1alpha1.ConditionValid, metav1.ConditionFalse},
	{v1alpha1.ConditionSourceReady, metav1.ConditionFalse},
	{v1alpha1.ConditionWriteFailed, metav1.ConditionTrue},
	{v1alpha1.ConditionAutomaticHeld, metav1.ConditionTrue},
}

func policyOf(p *v1alpha1.UpgradePolicy) *render.Policy {
	if p == nil {
		return nil
	}
	v := &render.Policy{Mode: p.Spec.Mode, Automatic: p.Spec.Automatic, Version: p.Status.Version, Source: p.Spec.Source.URL}
	for _, one := range problemConditions {
		c := meta.FindStatusCondition(p.Status.Conditions, one.kind)
		if c == nil || c.Status != one.status {
			continue
		}
		problem := render.Problem{Reason: v1alpha1.Reason(c.Reason), Message: c.Message}
		if !slices.Contains(v.Problems, problem) { // both may say what is wrong with the source
			v.Problems = append(v.Problems, problem)
		}
	}
	return v
}

// Approvals returns those that the upgrade lacks. A group's counts once the upgrade
// has begun.
func Approvals(u *v1alpha1.ClusterUpgrade, policy *v1alpha1.UpgradePolicy) (missing []render.Approval) {
	var defaults v1alpha1.Strategy
	if policy != nil {
		defaults = policy.Spec.Strategy
	}
	strategy, given := u.Status.Strategy.Or(u.Resolve(defaults)), u.Spec.Approved
	if strategy.Approval == v1alpha1.ApprovalRequired && !given.Upgrade {
		return []render.Approval{approval(u, "")}
	}
	for _, group := range strategy.Groups {
		if u.Status.TriggerTime != nil && group.Approval == v1alpha1.ApprovalRequired && !slices.Contains(given.Groups, group.Name) {
			missing = append(missing, approval(u, group.Name))
		}
	}
	return missing
}

func approval(u *v1alpha1.ClusterUpgrade, group string) render.Approval {
	command := "kubectl upgrade approve " + u.Name
	if group != "" {
		command += " --group " + group
	}
	return render.Approval{Upgrade: u.Name, Group: group, Command: command}
}
