package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// sourceTimeout is how long reading the index of images may take.
const sourceTimeout = 5 * time.Second

// readSource reads the index of images that the coordinator reads. problem is what went
// wrong with the policy, if anything. What goes wrong is the source's problem, and only
// a warning here: the coordinator may still reach it.
func (p *program) readSource(ctx context.Context, policy *v1alpha1.UpgradePolicy, problem error) fleet.Source {
	if problem != nil {
		return p.noSource(problem.Error())
	}
	var from v1alpha1.ImageSource
	if policy != nil {
		from = policy.Spec.Source
	}
	from.URL = cmp.Or(from.URL, source.Default)
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	found := source.NewPoller(from).Read(ctx)
	if found.Problem.Reason == v1alpha1.ReasonSourceUnavailable {
		return p.noSource(found.Problem.Message)
	}
	return found
}

// noSource warns, and returns a source without an index.
func (p *program) noSource(message string) fleet.Source {
	fmt.Fprintf(p.ErrOut, "warning: could not read the index of images from this machine: %s\n", oneLine(message))
	return fleet.Source{Problem: fleet.Hold{Reason: v1alpha1.ReasonSourceUnavailable, Message: message}}
}
