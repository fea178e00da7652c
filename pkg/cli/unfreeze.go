package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
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
several. What Flux, Argo CD or Helm keeps as it stands in Git or in a chart would
come back: that is refused, naming the owner.`,
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
	list, err := reader.kinds.MaintenanceSchedules.List(ctx, metav1.ListOptions{})
	if err != nil {
		return explain("reading MaintenanceSchedules", err)
	}
	target, err := u.choose(list.Items)
	if err != nil || target == nil {
		return err
	}
	if owner := gitOwner(target); owner != "" {
		return fmt.Errorf("%s owns freeze %s and would bring it back: delete it there", owner, target.Name)
	}
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

// choose finds the freeze that is meant. Nil: there is nothing to end.
func (u *unfreeze) choose(all []v1alpha1.MaintenanceSchedule) (*v1alpha1.MaintenanceSchedule, error) {
	if u.name != "" {
		i := slices.IndexFunc(all, func(s v1alpha1.MaintenanceSchedule) bool { return s.Name == u.name })
		switch {
		case i < 0:
			return nil, fmt.Errorf("there is no freeze %q; `kubectl upgrade unfreeze` lists them", u.name)
		case !isFreeze(all[i]):
			return nil, fmt.Errorf("MaintenanceSchedule %s is no freeze, it has windows: `kubectl edit maintenanceschedule %s` changes it", u.name, u.name)
		}
		return &all[i], nil
	}
	freezes := slices.DeleteFunc(all, func(s v1alpha1.MaintenanceSchedule) bool { return !isFreeze(s) || isOver(s, u.now()) })
	switch len(freezes) {
	case 0:
		fmt.Fprintln(u.ErrOut, "There is no freeze.")
		return nil, nil
	case 1:
		return &freezes[0], nil
	}
	fmt.Fprint(u.drawn, render.Freezes(viewFreezes(freezes, u.now()), u.drawing()))
	return nil, fmt.Errorf("there are %d freezes: say which, as in `kubectl upgrade unfreeze %s`", len(freezes), freezes[0].Name)
}

// isFreeze reports whether a schedule can only stop something.
func isFreeze(s v1alpha1.MaintenanceSchedule) bool {
	return len(s.Spec.MaintenanceWindows) == 0 && len(s.Spec.MaintenanceExclusions) > 0
}

// isOver reports whether none of a freeze's exclusions can hold again.
func isOver(s v1alpha1.MaintenanceSchedule, now time.Time) bool {
	return !slices.ContainsFunc(s.Spec.MaintenanceExclusions, func(x v1alpha1.MaintenanceExclusion) bool { return !exclusionOver(x, now) })
}

func exclusionOver(x v1alpha1.MaintenanceExclusion, now time.Time) bool {
	return x.Recurrence == "" && !x.EndTime.After(now)
}

// viewFreezes are the exclusions of freezes that are not over, the first to
// end first.
func viewFreezes(freezes []v1alpha1.MaintenanceSchedule, now time.Time) []render.Freeze {
	var views []render.Freeze
	for _, s := range freezes {
		for _, x := range s.Spec.MaintenanceExclusions {
			if exclusionOver(x, now) {
				continue
			}
			views = append(views, render.Freeze{
				Name: s.Name, From: x.StartTime.Time, Until: x.EndTime.Time, Recurrence: x.Recurrence,
				Upgrades: x.Upgrades, Nodes: selectorText(s.Spec.NodeSelector), By: cmp.Or(gitOwner(&s), s.Annotations[v1alpha1.RequestedByAnnotation]), Reason: x.Reason,
			})
		}
	}
	slices.SortStableFunc(views, func(a, b render.Freeze) int {
		return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.Name, b.Name))
	})
	return views
}

// completeFreeze offers the freezes' names to the shell.
func (p *program) completeFreeze() cobra.CompletionFunc {
	return p.completeName(func(ctx context.Context, reader *reader) (names []string, err error) {
		list, err := reader.kinds.MaintenanceSchedules.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, s := range list.Items {
			if isFreeze(s) {
				names = append(names, s.Name)
			}
		}
		return names, nil
	})
}
