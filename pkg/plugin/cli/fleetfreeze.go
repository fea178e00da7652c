package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// fleetFreeze is `kubectl upgrade fleet freeze` with its arguments.
type fleetFreeze struct {
	fleetCommand
	freeze freeze

	all []fleet.Cluster
}

func newFleetFreeze(p *program) *cobra.Command {
	f := &fleetFreeze{fleetCommand: fleetCommand{program: p}, freeze: freeze{program: p}}
	cmd := &cobra.Command{
		Use:   "freeze [NAME] --for DURATION --reason TEXT",
		Short: "Block upgrades in several clusters for a while",
		Long: `Creates the same freeze in each cluster, as ` + "`kubectl upgrade freeze`" + ` does, and waits until the
coordinator there says that it is in effect. A row says for each cluster whether it is:
Frozen, AlreadyFrozen (the same freeze was there), NotConfirmed (the coordinator has said
nothing, so whether all agents know is not known) or NotFrozen, and why. Certificates are
still renewed: --certificates stops that, too.

Where it fails in some, it stays in the others: the command says where it holds, and how
to repeat it and how to undo it. The exit code is 0 only if every cluster is frozen.`,
		Example: `  kubectl upgrade fleet freeze --contexts 'prod-*' --for 4h --reason incident
  kubectl upgrade fleet freeze christmas --fleet fleet.yaml \
    --until "2027-01-02 06:00" --reason "office closed"`,
		Args:              freezeResource.optional,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.freeze.name = freezeResource.in(args)
			return inOrder(cmd, f)
		},
	}
	f.freeze.output.addTo(cmd)
	f.freeze.dryRun.addTo(cmd)
	f.freeze.addFreezeFlags(cmd)
	cmd.Flags().StringVar(&f.freeze.selector, "node-selector", "", "Only nodes with these labels, such as pool=db. Default: every node.")
	f.fleetCommand.addTo(cmd, "20s")
	return cmd
}

func (f *fleetFreeze) validate() error { return f.freeze.validate() }

func (f *fleetFreeze) complete(cmd *cobra.Command) (err error) {
	if err := f.freeze.complete(cmd); err != nil {
		return err
	}
	f.freeze.schedule.Annotations = map[string]string{v1alpha1.FleetFreezeAnnotation: "true"}
	f.all, err = f.choose(cmd)
	return err
}

func (f *fleetFreeze) run(ctx context.Context) error {
	asked := f.freeze.schedule
	if f.freeze.dryRun.mode == dryRunClient && !f.freeze.forPeople() {
		return f.freeze.print(f.program, asked) // for Git
	}
	defer quietPrograms()()
	rows := forEach(ctx, &f.fleetCommand, f.all, func(ctx context.Context, m member) (fleet.FreezeRow, error) {
		return f.freezeOne(ctx, m, asked.DeepCopy()), nil
	}, notFrozen)
	result := fleet.NewFreezes(asked.Name, rows)
	until := asked.Spec.MaintenanceExclusions[0].EndTime.UTC()
	result.Until = &until
	if err := f.show(&f.freeze.output, result, f.freeze.dryRun); err != nil {
		return err
	}
	if note := f.freeze.certificatesNote(); note != "" && len(result.Holds()) > 0 && f.freeze.forPeople() {
		fmt.Fprintln(f.ErrOut, note)
	}
	return cmpErr(ctx.Err(), f.outcome(result, asked))
}

// cmpErr returns an interruption, or else the other error.
func cmpErr(interrupted, other error) error {
	if errors.Is(interrupted, context.Canceled) {
		return interrupted
	}
	return other
}

// notFrozen is the row of a cluster that was not reached.
func notFrozen(c fleet.Cluster, trouble *view.Problem) fleet.FreezeRow {
	return fleet.FreezeRow{Cluster: c, State: fleet.NotFrozen, Reason: trouble.Reason, Message: trouble.Message}
}

// freezeOne creates the freeze in a cluster, and waits for the coordinator's word.
func (f *fleetFreeze) freezeOne(ctx context.Context, m member, asked *v1alpha1.MaintenanceSchedule) fleet.FreezeRow {
	x := asked.Spec.MaintenanceExclusions[0]
	since, until := x.StartTime.UTC(), x.EndTime.UTC()
	row := fleet.FreezeRow{Cluster: m.Cluster, State: fleet.Frozen, Since: &since, Until: &until}
	d := f.freeze.dryRun
	if d.mode == dryRunClient {
		row.Message = strings.TrimSpace(d.String())
		return row
	}
	if d.mode == dryRunNone {
		m.reader.sign(ctx, asked)
	}
	created, err := m.reader.kinds.MaintenanceSchedules.Create(ctx, asked,
		metav1.CreateOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict, DryRun: d.options()})
	if apierrors.IsAlreadyExists(err) {
		row.State = fleet.AlreadyFrozen
		if created, err = m.reader.kinds.MaintenanceSchedules.Get(ctx, asked.Name, metav1.GetOptions{}); err == nil {
			if why := fleet.Covers(*created, *asked, f.now()); why != "" {
				row.State, row.Since, row.Until = fleet.NotFrozen, nil, nil
				row.Message = fmt.Sprintf("there is a MaintenanceSchedule %s already: %s; choose another NAME", asked.Name, why)
				return row
			}
			row.Message = existing(*created, *asked, m.Context)
		}
	}
	switch {
	case err != nil && ctx.Err() != nil:
		row.State, row.Message = fleet.NotConfirmed, "no answer to the request: whether it is frozen is not known"
	case err != nil:
		trouble := troubleOf(err, m.Context, m.access, f.limit)
		row.State, row.Reason, row.Message, row.Since, row.Until = fleet.NotFrozen, trouble.Reason, trouble.Message, nil, nil
	case d.mode == dryRunServer:
		row.Message = strings.TrimSpace(d.String())
	default:
		f.confirm(ctx, m, created.Name, &row)
	}
	return row
}

// existing says what a person should know of a freeze that was there before, and covers what was asked for. Empty: nothing.
func existing(there, asked v1alpha1.MaintenanceSchedule, context string) string {
	var notes []string
	if !fleet.IsFleets(there) {
		notes = append(notes, fmt.Sprintf("the fleet did not make it: `kubectl upgrade unfreeze %s --context %s` ends it", there.Name, fleet.Quote(context)))
	}
	if fleet.StopsCertificates(there) && !fleet.StopsCertificates(asked) {
		notes = append(notes, "it stops the renewal of certificates, too")
	}
	return strings.Join(notes, "; ")
}

// confirmEvery is the pause between two questions whether the coordinator has seen a freeze, and
// confirmLeft what of the time limit is left for the answer.
const (
	confirmEvery = 200 * time.Millisecond
	confirmLeft  = 500 * time.Millisecond
)

// confirm waits until the coordinator says that the freeze is in effect.
func (f *fleetFreeze) confirm(ctx context.Context, m member, name string, row *fleet.FreezeRow) {
	deadline, _ := ctx.Deadline()
	why := "the coordinator has not said that it is in effect"
	for {
		s, err := m.reader.kinds.MaintenanceSchedules.Get(ctx, name, metav1.GetOptions{})
		switch {
		case isMissing(err):
			row.State, row.Message = fleet.NotFrozen, "it was deleted at once by another person or program"
			return
		case err != nil:
			why = "it was created, and then the API server did not answer"
		case s.Status.ObservedGeneration == s.Generation && meta.IsStatusConditionFalse(s.Status.Conditions, v1alpha1.ConditionValid):
			row.State, row.Message = fleet.NotConfirmed, "the coordinator says that it is invalid: "+meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionValid).Message
			return
		case s.Status.ObservedGeneration == s.Generation && s.Status.State == schedule.StateExcluded:
			return
		}
		if time.Until(deadline) < confirmEvery+confirmLeft {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(confirmEvery):
			continue
		}
		break
	}
	row.State, row.Message = fleet.NotConfirmed, why+"; agents ask the API server before each node begins, and so find it"
}

// show writes what has been reached, in the format that was chosen.
func (f *fleetCommand) show(o *output, result fleet.Freezes, d dryRun) error {
	return showRows(f, o, result.Items, result, func(result fleet.Freezes, options render.Options) string {
		return render.ClusterFreezes(result, d.String(), options)
	})
}

// outcome says, where not every cluster is frozen, which are, and how to repeat and to undo that.
func (f *fleetFreeze) outcome(result fleet.Freezes, asked *v1alpha1.MaintenanceSchedule) error {
	failed, holds := result.Failed(), result.Holds()
	if len(failed) == 0 {
		return nil
	}
	fmt.Fprintf(f.ErrOut, "Not frozen, or not confirmed: %s.\nRepeat: %s\n", strings.Join(failed, ", "), f.repeat(asked, failed))
	if len(holds) > 0 && f.freeze.dryRun.mode == dryRunNone {
		fmt.Fprintf(f.ErrOut, "The freeze stays in: %s.\nUndo: %s\n", strings.Join(holds, ", "), undo(asked.Name, holds))
	}
	return partly(result, failed, "are not frozen, or not confirmed to be")
}

// partly returns the error that the command did not reach its aim in some clusters.
func partly(result fleet.Freezes, failed []string, are string) error {
	err := fmt.Errorf("%d of %s %s: %s", len(failed), fleet.Count(result.Asked()), are, view.Few(failed))
	for _, r := range result.Items {
		if !r.State.Done() && !r.Repeated && !fleet.IsSilence(r.Reason) {
			return err
		}
	}
	return unanswered{err}
}

// repeat returns the command that freezes the rest, until the same time.
func (f *fleetFreeze) repeat(asked *v1alpha1.MaintenanceSchedule, contexts []string) string {
	x := asked.Spec.MaintenanceExclusions[0]
	words := []string{"kubectl upgrade fleet freeze", asked.Name, "--until", x.EndTime.UTC().Format(time.RFC3339), "--reason", fleet.Quote(x.Comment)}
	if len(f.freeze.upgrades) > 0 {
		words = append(words, "--upgrades", strings.Join(f.freeze.upgrades, ","))
	}
	if f.freeze.certificates {
		words = append(words, "--certificates")
	}
	if f.freeze.selector != "" {
		words = append(words, "--node-selector", fleet.Quote(f.freeze.selector))
	}
	return strings.Join(append(words, "--contexts", fleet.Quote(strings.Join(contexts, ","))), " ")
}

func undo(name string, contexts []string) string {
	return fmt.Sprintf("kubectl upgrade fleet unfreeze %s --contexts %s", name, fleet.Quote(strings.Join(contexts, ",")))
}
