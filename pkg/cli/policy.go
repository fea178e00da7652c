package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/source"
)

// policy reads the UpgradePolicy. It returns nil where there is none yet: then the
// defaults apply.
func (r *reader) policy(ctx context.Context) (*v1alpha1.UpgradePolicy, error) {
	policy, err := r.kinds.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	switch {
	case isMissing(err):
		return nil, nil
	case err != nil:
		return nil, explain("reading UpgradePolicy "+v1alpha1.PolicyName, err)
	}
	return policy, nil
}

// sourcePatience is how long the index of images may take to come.
const sourcePatience = 5 * time.Second

// readSource reads the index that the coordinator reads, unless there was a problem
// with the policy. What goes wrong is the source's problem, and a warning as well,
// as the coordinator may have more luck.
func (p *program) readSource(ctx context.Context, policy *v1alpha1.UpgradePolicy, problem error) fleet.Source {
	if problem != nil {
		return p.noSource(problem.Error())
	}
	var from v1alpha1.ImageSource
	if policy != nil {
		from = policy.Spec.Source
	}
	from.URL = cmp.Or(from.URL, source.Default)
	ctx, cancel := context.WithTimeout(ctx, sourcePatience)
	defer cancel()
	found := source.NewPoller(from).Read(ctx)
	if found.Problem.Reason == v1alpha1.ReasonSourceUnavailable {
		return p.noSource(found.Problem.Message)
	}
	return found
}

func (p *program) noSource(message string) fleet.Source {
	fmt.Fprintf(p.ErrOut, "warning: what images are on offer is not known here: %s\n", oneLine(message))
	return fleet.Source{Problem: fleet.Hold{Reason: v1alpha1.ReasonSourceUnavailable, Message: message}}
}
