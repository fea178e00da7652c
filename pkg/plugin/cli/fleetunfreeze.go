package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// fleetUnfreeze is `kubectl upgrade fleet unfreeze` with its arguments.
type fleetUnfreeze struct {
	fleetCommand
	output
	dryRun
	name string // empty: the only one
}

func newFleetUnfreeze(p *program) *cobra.Command {
	u := &fleetUnfreeze{fleetCommand: fleetCommand{program: p}}
	cmd := &cobra.Command{
		Use:   "unfreeze [NAME]",
		Short: "End a freeze of several clusters before its time",
		Long: `Deletes the freeze NAME that ` + "`kubectl upgrade fleet freeze`" + ` made in each cluster. Without
NAME it deletes the only one of the fleet that is not over, or names them if there are
several. It leaves freezes that others made, and refuses those that Flux, Argo CD or
Helm would restore. A row says for each cluster what has been reached: Unfrozen, NoFreeze
(there was none of that name), StillFrozen or NotKnown, and why.`,
		Example: `  kubectl upgrade fleet unfreeze incident-4711 --contexts 'prod-*'
  kubectl upgrade fleet unfreeze --fleet fleet.yaml`,
		Args:              freezeResource.optional,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			u.name = freezeResource.in(args)
			return u.run(cmd)
		},
	}
	u.output.addTo(cmd)
	u.dryRun.addTo(cmd)
	u.fleetCommand.addTo(cmd, "10s")
	return cmd
}

// listed is what a cluster answered about its schedules.
type listed struct {
	schedules []v1alpha1.MaintenanceSchedule
	row       fleet.FreezeRow // where it did not answer
}

func (u *fleetUnfreeze) run(cmd *cobra.Command) error {
	if err := u.dryRun.check(); err != nil {
		return err
	}
	all, err := u.choose(cmd)
	if err != nil {
		return err
	}
	defer quietPrograms()()
	if u.name == "" {
		if u.name, err = u.only(cmd.Context(), all); err != nil || u.name == "" {
			return err
		}
	}
	rows := forEach(cmd.Context(), &u.fleetCommand, all, u.unfreezeOne, func(c fleet.Cluster, trouble *view.Problem) fleet.FreezeRow {
		return fleet.FreezeRow{Cluster: c, State: fleet.NotKnown, Reason: trouble.Reason, Message: trouble.Message}
	})
	result := fleet.NewFreezes(u.name, rows)
	if err := u.show(&u.output, result, u.dryRun); err != nil {
		return err
	}
	return cmpErr(cmd.Context().Err(), u.outcome(result))
}

// only returns the one freeze of the fleet that is not over. Empty: there is none.
func (u *fleetUnfreeze) only(ctx context.Context, all []fleet.Cluster) (string, error) {
	answers := forEach(ctx, &u.fleetCommand, all, func(ctx context.Context, m member) (listed, error) {
		list, err := m.reader.kinds.MaintenanceSchedules.List(ctx, metav1.ListOptions{})
		if err != nil {
			return listed{}, err
		}
		return listed{schedules: list.Items}, nil
	}, func(c fleet.Cluster, trouble *view.Problem) listed { return listed{row: notFrozen(c, trouble)} })
	if err := ctx.Err(); err != nil {
		return "", err
	}
	var names, silent []string
	for i, one := range answers {
		names = append(names, fleet.CurrentFreezes(one.schedules, u.now())...)
		if one.row.Context != "" && !all[i].Repeated {
			silent = append(silent, one.row.Context)
		}
	}
	slices.Sort(names)
	switch names = slices.Compact(names); {
	case len(names) > 1:
		return "", fmt.Errorf("there are %d freezes of the fleet, %s: say which, as in `kubectl upgrade fleet unfreeze %s`", len(names), strings.Join(names, ", "), names[0])
	case len(silent) > 0:
		return "", unanswered{fmt.Errorf("%s did not answer, so which freezes there are is not known: give NAME", view.Few(silent))}
	case len(names) == 0:
		fmt.Fprintln(u.ErrOut, "There is no freeze of the fleet.")
		return "", nil
	}
	return names[0], nil
}

// unfreezeOne deletes the freeze in a cluster.
func (u *fleetUnfreeze) unfreezeOne(ctx context.Context, m member) (fleet.FreezeRow, error) {
	row := fleet.FreezeRow{Cluster: m.Cluster, State: fleet.Unfrozen, Message: strings.TrimSpace(u.dryRun.String())}
	list, err := m.reader.kinds.MaintenanceSchedules.List(ctx, metav1.ListOptions{})
	if err != nil {
		return row, err
	}
	others := fleet.OtherFreezes(list.Items, u.name, u.now())
	if len(others) > 0 {
		row.Message = "another freeze still holds: " + strings.Join(others, ", ")
	}
	i := slices.IndexFunc(list.Items, func(s v1alpha1.MaintenanceSchedule) bool { return s.Name == u.name })
	if i < 0 {
		row.State = fleet.NoFreeze
		return row, nil
	}
	target := list.Items[i]
	still := func(format string, args ...any) (fleet.FreezeRow, error) {
		row.State, row.Message = fleet.StillFrozen, fmt.Sprintf(format, args...)
		return row, nil
	}
	switch _, err := request.FreezeToEnd(list.Items, u.name, u.now()); {
	case err != nil:
		return still("%v", err)
	case !fleet.IsFleets(target):
		return still("the fleet did not make it: `kubectl upgrade unfreeze %s --context %s` ends it", u.name, fleet.Quote(m.Context))
	case u.mode == dryRunClient:
		return row, nil
	}
	options := metav1.NewPreconditionDeleteOptions(string(target.UID))
	options.Preconditions.ResourceVersion = &target.ResourceVersion
	options.DryRun = u.dryRun.options()
	switch err := m.reader.kinds.MaintenanceSchedules.Delete(ctx, target.Name, *options); {
	case err == nil || isMissing(err):
		return row, nil
	case ctx.Err() != nil:
		row.State, row.Message = fleet.NotKnown, "no answer to the request: whether it was deleted is not known"
		return row, nil
	default:
		return row, err
	}
}

// outcome says, where the freeze stays in some clusters, in which.
func (u *fleetUnfreeze) outcome(result fleet.Freezes) error {
	failed := result.Failed()
	if !slices.ContainsFunc(result.Items, func(r fleet.FreezeRow) bool { return r.State != fleet.NoFreeze && !r.Repeated }) {
		return fmt.Errorf("there is no freeze %q in these clusters; without NAME, `kubectl upgrade fleet unfreeze` names those that there are", u.name)
	}
	if len(failed) == 0 {
		return nil
	}
	fmt.Fprintf(u.ErrOut, "Not unfrozen, or not known to be: %s.\nRepeat: %s\n", strings.Join(failed, ", "), undo(u.name, failed))
	return partly(result, failed, "are not unfrozen")
}
