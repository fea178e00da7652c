package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// completionTimeout is how long a person waits after the Tab key.
const completionTimeout = 3 * time.Second

// completeName offers the names of objects for the one argument of a verb.
func (p *program) completeName(names func(context.Context, *reader) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		reader, err := p.reader()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		found, err := names(ctx, reader)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNode offers the names of nodes.
func (p *program) completeNode() cobra.CompletionFunc {
	return p.completeName(func(ctx context.Context, reader *reader) (names []string, err error) {
		o, err := reader.read(ctx)
		nodes, _ := view.Nodes(o)
		for _, node := range nodes {
			names = append(names, node.Name)
		}
		return names, err
	})
}

// completeUpgrade offers the upgrades that have not ended, and are suspended or not.
func (p *program) completeUpgrade(suspended bool) cobra.CompletionFunc {
	return p.completeName(func(ctx context.Context, reader *reader) (names []string, err error) {
		o, err := reader.read(ctx)
		for _, u := range plan.Queue(o.Snapshot(), p.now()) {
			if u.Spec.Suspend == suspended {
				names = append(names, u.Name)
			}
		}
		return names, err
	})
}

// completeFreeze offers the names of freezes.
func (p *program) completeFreeze() cobra.CompletionFunc {
	return p.completeName(func(ctx context.Context, reader *reader) (names []string, err error) {
		schedules, err := reader.schedules(ctx)
		for _, s := range schedules {
			if request.IsFreeze(s) {
				names = append(names, s.Name)
			}
		}
		return names, err
	})
}
