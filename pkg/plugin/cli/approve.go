package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

func newApprove(p *program) *cobra.Command {
	var group string
	var d dryRun
	cmd := &cobra.Command{
		Use:   "approve [NAME]",
		Short: "Approve an upgrade, or a group of it",
		Long: `Approves the ClusterUpgrade NAME, or with --group one group of its strategy, where the
strategy has "approval: Required". ` + "`kubectl upgrade status`" + ` shows which approvals are missing.
Your name is recorded. NAME may be left out if only one upgrade waits for that
approval.`,
		Example: `  kubectl upgrade approve v1.34.4
  kubectl upgrade approve v1.34.4 --group db
  kubectl upgrade approve`,
		Args:              upgradeResource.optional,
		ValidArgsFunction: p.complete(p.upgradesToApprove),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.approve(cmd.Context(), upgradeResource.in(args), group, d)
		},
	}
	d.addTo(cmd)
	cmd.Flags().StringVar(&group, "group", "", "Approve this group, and not the whole upgrade.")
	_ = cmd.RegisterFlagCompletionFunc("group", p.completeFlag(p.groupsToApprove))
	return cmd
}

// approve adds an approval to spec.approved of an upgrade; without a name, of the only one that
// waits for it.
func (p *program) approve(ctx context.Context, name, group string, d dryRun) error {
	if err := d.check(); err != nil {
		return err
	}
	reader, err := p.reader()
	if err != nil {
		return err
	}
	if name == "" {
		if name, err = p.upgradeToApprove(ctx, reader, group); err != nil {
			return err
		}
	}
	owner := ""
	changed, err := reader.change(ctx, name, d, func(u *v1alpha1.ClusterUpgrade, user string) (map[string]any, error) {
		given := u.Spec.Approved
		switch {
		case u.Status.Outcome != "":
			return nil, fmt.Errorf("ClusterUpgrade %s has ended (%s): it can no longer be approved", name, u.Status.Outcome)
		case group == "" && given.Upgrade, group != "" && slices.Contains(given.Groups, group):
			return nil, nil
		}
		owner = request.GitOwner(u)
		approved := map[string]any{"by": nil}
		if user != "" {
			approved["by"] = user
		}
		if group == "" {
			approved["upgrade"] = true
		} else { // a merge patch replaces a list as a whole
			approved["groups"] = append(slices.Clone(given.Groups), group)
		}
		return map[string]any{"approved": approved}, nil
	})
	if err != nil {
		return err
	}
	p.readName(ctx, reader)
	p.printChange(name, "approved", changed, d, owner, "spec.approved")
	return nil
}
