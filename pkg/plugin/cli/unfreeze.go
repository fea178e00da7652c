package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// unfreeze is `kubectl upgrade unfreeze` with its arguments.
type unfreeze struct {
	*program
	dryRun
	name string // empty: the only one
}

func newUnfreeze(p *program) *cobra.Command {
	u := &unfreeze{program: p}
	cmd := &cobra.Command{
		Use:   "unfreeze [NAME]",
		Short: "End a freeze before its time",
		Long: `Deletes the freeze NAME, a MaintenanceSchedule that has only exclusions. Without
NAME it deletes the only one that is not over, or lists them when there are
several. It refuses to delete one that Flux, Argo CD or Helm would restore, and
names that owner.`,
		Example: `  kubectl upgrade unfreeze
  kubectl upgrade unfreeze christmas`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: p.completeFreeze(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				u.name = args[0]
			}
			return u.run(cmd.Context())
		},
	}
	u.dryRun.addTo(cmd)
	return cmd
}

func (u *unfreeze) run(ctx context.Context) error {
	if err := u.dryRun.check(); err != nil {
		return err
	}
	reader, err := u.reader()
	if err != nil {
		return err
	}
	schedules, err := reader.schedules(ctx)
	if err != nil {
		return err
	}
	freezes, err := request.FreezeToEnd(schedules, u.name, u.now())
	switch {
	case len(freezes) > 1:
		fmt.Fprint(u.drawn, render.Freezes(view.Freezes(freezes, u.now()), u.drawing()))
		return err
	case err != nil:
		return err
	case len(freezes) == 0:
		fmt.Fprintln(u.ErrOut, "There is no freeze.")
		return nil
	}
	target := freezes[0]
	if u.dryRun.mode != dryRunClient {
		options := metav1.NewPreconditionDeleteOptions(string(target.UID))
		options.Preconditions.ResourceVersion = &target.ResourceVersion
		options.DryRun = u.dryRun.options()
		if err := reader.kinds.MaintenanceSchedules.Delete(ctx, target.Name, *options); err != nil && !isMissing(err) {
			return explain("deleting MaintenanceSchedule "+target.Name, err)
		}
	}
	fmt.Fprintf(u.Out, "maintenanceschedule.%s/%s deleted%s\n", v1alpha1.Group, target.Name, u.dryRun)
	return nil
}
