package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
)

// planning is `kubectl upgrade plan` with its arguments.
type planning struct {
	*program
	output
	version        string // empty: what is asked for in the cluster
	snapshot, save string
	at, timeZone   string
	schedules      []string
	exitCode       bool
}

func newPlan(p *program) *cobra.Command {
	n := &planning{program: p}
	cmd := &cobra.Command{
		Use:   "plan [VERSION]",
		Short: "What would happen now: in which order, and why a node waits",
		Long: `Shows the coordinator's own plan: the order of the nodes, what each may do, and
for a node that waits why and until when; and when each is expected to begin and to be
done, from how long this cluster's nodes took before; and what the checks find that
the coordinator makes before an upgrade. It changes nothing. With VERSION it plans an
upgrade that was not asked for yet; a minor such as v1.35 is its newest patch.

It reads the cluster as you. Where you may not, or there is no cluster, --snapshot
takes a file that --save-snapshot wrote; it is then as late as it was then, or as
--at says. The index of images is read from here, from the address in the
UpgradePolicy.`,
		Example: `  kubectl upgrade plan
  kubectl upgrade plan v1.35 --at "2026-12-24 18:00"
  kubectl upgrade plan -f new-schedules/
  kubectl upgrade plan --save-snapshot cluster.json
  kubectl upgrade plan --snapshot cluster.json v1.34.5
  kubectl upgrade plan v1.35 -o jsonpath='{.findings[?(@.level=="Block")].message}'
  kubectl upgrade plan --exit-code -o jsonpath='{.nodes[?(@.decision=="Wait")].name}'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				n.version = args[0]
			}
			return n.run(cmd.Context())
		},
	}
	n.addTo(cmd)
	flags := cmd.Flags()
	flags.StringVar(&n.snapshot, "snapshot", "", "Read the cluster from this file, and ask none.")
	flags.StringVar(&n.save, "save-snapshot", "", "Write the cluster as it was read into this file as well.")
	flags.StringVar(&n.at, "at", "", "Plan as if it were then: RFC 3339, or 2026-12-24 18:00 in --time-zone.")
	flags.StringVar(&n.timeZone, "time-zone", "", "The zone to read and print times in. Default: this machine's.")
	flags.StringSliceVarP(&n.schedules, "filename", "f", nil, "Add the schedules of this file, folder, or standard input (-); they replace those of the same name.")
	flags.BoolVar(&n.exitCode, "exit-code", false, "Exit with 2 where there is something to do.")
	return cmd
}

func (n *planning) run(ctx context.Context) error {
	if n.snapshot != "" && n.save != "" {
		return errors.New("--save-snapshot saves what a cluster says: leave out --snapshot")
	}
	in, err := zone(n.timeZone)
	if err != nil {
		return err
	}
	shot, err := n.read(ctx)
	if err != nil {
		return err
	}
	at := shot.TakenAt
	if n.at != "" {
		if at, err = moment("at", n.at, in); err != nil {
			return err
		}
	}
	asRead := shot
	asRead.Schedules = slices.Clone(shot.Schedules)
	if err := n.change(&shot.Snapshot, at); err != nil {
		return err
	}
	if err := n.check(ctx, &shot.Snapshot, at); err != nil {
		return err
	}
	if n.save != "" {
		asRead.Preflight, asRead.Webhooks = shot.Preflight, shot.Webhooks
		if err := asRead.save(n.save); err != nil {
			return err
		}
	}
	decided := inUTC(plan.Predict(shot.Snapshot, at))
	if err := n.show(shot.Snapshot, decided, at, in); err != nil {
		return err
	}
	if n.exitCode && leavesWork(decided) {
		return exitError{code: exitToDo}
	}
	return nil
}

func (n *planning) read(ctx context.Context) (snapshotFile, error) {
	if n.snapshot != "" {
		return loadSnapshot(n.snapshot)
	}
	return n.takeSnapshot(ctx)
}

// check makes the checks, or takes those that a file has.
func (n *planning) check(ctx context.Context, s *fleet.Snapshot, at time.Time) error {
	if n.snapshot == "" {
		return n.runPreflight(ctx, s, at)
	}
	if !recallPreflight(s, at) {
		fmt.Fprintf(n.ErrOut, "%s has no findings for this upgrade: the plan takes it that nothing speaks against it.\n", n.snapshot)
	}
	return nil
}

// change puts what is only supposed into the snapshot.
func (n *planning) change(s *fleet.Snapshot, at time.Time) error {
	if len(n.schedules) > 0 {
		more, err := n.schedulesIn(n.schedules)
		if err != nil {
			return err
		}
		s.Schedules = slices.DeleteFunc(s.Schedules, func(old v1alpha1.MaintenanceSchedule) bool {
			return slices.ContainsFunc(more, func(one v1alpha1.MaintenanceSchedule) bool { return one.Name == old.Name })
		})
		s.Schedules = append(s.Schedules, more...)
	}
	if n.version == "" {
		return nil
	}
	notes, err := suppose(s, n.version, at)
	for _, note := range notes {
		fmt.Fprintln(n.ErrOut, note)
	}
	return err
}

func (n *planning) show(s fleet.Snapshot, decided plan.Plan, at time.Time, in *time.Location) error {
	switch {
	case n.format() == "name":
		for _, node := range decided.Nodes {
			fmt.Fprintf(n.Out, "nodeupgrade.%s/%s\n", v1alpha1.Group, node.Name)
		}
		return nil
	case !n.forPeople():
		return n.print(n.program, decided)
	}
	options := n.drawing()
	options.Now, options.Zone, options.Wide = at, in, n.format() == "wide"
	_, err := io.WriteString(n.drawn, render.Plan(decided, viewPlanned(s, decided), options))
	return err
}
