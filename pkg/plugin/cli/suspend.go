package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

func newSuspend(p *program) *cobra.Command {
	var d dryRun
	cmd := &cobra.Command{
		Use:   "suspend [NAME]",
		Short: "Pause an upgrade",
		Long: `Pauses the ClusterUpgrade NAME: no other node begins. A node that has not passed its
last check, such as one that is being drained, aborts its attempt and is uncordoned; a
node past its last check finishes. ` + "`kubectl upgrade resume NAME`" + ` continues it.

NAME may be left out if only one upgrade can be suspended.`,
		Example: `  kubectl upgrade suspend v1.34.4
  kubectl upgrade suspend clusterupgrade/v1.34.4
  kubectl upgrade suspend`,
		Args:              upgradeResource.optional,
		ValidArgsFunction: p.complete(p.upgradesThat(false)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.setSuspend(cmd.Context(), upgradeResource.in(args), true, d)
		},
	}
	d.addTo(cmd)
	return cmd
}

func newResume(p *program) *cobra.Command {
	var d dryRun
	cmd := &cobra.Command{
		Use:   "resume [NAME]",
		Short: "Resume a suspended upgrade",
		Long: `Resumes the ClusterUpgrade NAME, which ` + "`kubectl upgrade suspend`" + ` paused: the next node
begins as soon as windows, budget and order allow. NAME may be left out if only one
upgrade is suspended.`,
		Example: `  kubectl upgrade resume v1.34.4
  kubectl upgrade resume
  kubectl upgrade status --watch`,
		Args:              upgradeResource.optional,
		ValidArgsFunction: p.complete(p.upgradesThat(true)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.setSuspend(cmd.Context(), upgradeResource.in(args), false, d)
		},
	}
	d.addTo(cmd)
	return cmd
}

// setSuspend sets spec.suspend of an upgrade; without a name, of the only one where that changes it.
func (p *program) setSuspend(ctx context.Context, name string, suspend bool, d dryRun) error {
	if err := d.check(); err != nil {
		return err
	}
	reader, err := p.reader()
	if err != nil {
		return err
	}
	if name == "" {
		verb := map[bool]string{true: "suspend", false: "resume"}[suspend]
		if name, err = p.upgradesThat(!suspend).only(ctx, reader, verb); err != nil {
			return err
		}
	}
	owner := ""
	changed, err := reader.change(ctx, name, d, func(u *v1alpha1.ClusterUpgrade, _ string) (map[string]any, error) {
		if u.Status.Outcome != "" {
			return nil, fmt.Errorf("ClusterUpgrade %s has ended (%s): it can no longer be suspended or resumed", name, u.Status.Outcome)
		}
		if u.Spec.Suspend == suspend {
			return nil, nil
		}
		owner = request.GitOwner(u)
		return map[string]any{"suspend": suspend}, nil
	})
	if err != nil {
		return err
	}
	p.readName(ctx, reader)
	p.printChange(name, map[bool]string{true: "suspended", false: "resumed"}[suspend], changed, d, owner, "spec.suspend")
	return nil
}

// printChange says what was done to an upgrade, and warns where its owner may undo it.
func (p *program) printChange(name, done string, changed bool, d dryRun, owner, field string) {
	if owner != "" {
		fmt.Fprintf(p.ErrOut, "warning: %s owns ClusterUpgrade %s and may undo this: set %s there too\n", owner, name, field)
	}
	if !changed {
		done += " already"
	}
	p.answer(fmt.Sprintf("clusterupgrade.%s/%s %s", v1alpha1.Group, name, done), d)
}
