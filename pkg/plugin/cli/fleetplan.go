package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// fleetPlan is `kubectl upgrade fleet plan` with its arguments.
type fleetPlan struct {
	fleetCommand
	output
	version  string // empty: the upgrades that exist
	exitCode bool
	warnings warnings
}

// warnings are what was written about clusters, each once.
type warnings struct {
	mutex sync.Mutex
	lines []string
}

// add keeps the lines that warn.
func (w *warnings) add(text string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "warning: ") && !slices.Contains(w.lines, line) {
			w.lines = append(w.lines, line)
		}
	}
}

func newFleetPlan(p *program) *cobra.Command {
	n := &fleetPlan{fleetCommand: fleetCommand{program: p}}
	cmd := &cobra.Command{
		Use:   "plan [VERSION]",
		Short: "Show for each cluster what would be done next",
		Long: `Makes the plan of each cluster, as ` + "`kubectl upgrade plan`" + ` does, with the checks, and shows a row
for each: what would be done next, how many nodes are to go, when the first is expected to
begin and the last to be done, and why one waits. It changes nothing. With VERSION it plans an
upgrade that does not exist yet. The plan of one cluster in full:
` + "`kubectl upgrade plan --context NAME`" + `.

NEXT is Create (an upgrade would be created), Continue (a node may begin now), Wait (later, by
itself), Blocked (a person has to act first) or Nothing.`,
		Example: `  kubectl upgrade fleet plan --contexts 'prod-*'
  kubectl upgrade fleet plan v1.35 --fleet fleet.yaml --stage prod
  kubectl upgrade fleet plan v1.35 --contexts '*' \
    -o jsonpath='{.items[?(@.next=="Blocked")].context}'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				n.version = args[0]
			}
			return n.run(cmd)
		},
	}
	n.output.addTo(cmd)
	n.fleetCommand.addTo(cmd, "30s")
	cmd.Flags().BoolVar(&n.exitCode, "exit-code", false, "Exit with 2 if there is something to do in a cluster.")
	return cmd
}

func (n *fleetPlan) run(cmd *cobra.Command) error {
	if n.version != "" {
		if err := request.CheckVersion(n.version); err != nil {
			return err
		}
	}
	all, err := n.choose(cmd)
	if err != nil {
		return err
	}
	defer quietPrograms()()
	n.sources = &sources{}
	rows := forEach(cmd.Context(), &n.fleetCommand, all, n.planOf, func(c fleet.Cluster, trouble *view.Problem) fleet.PlanRow {
		return fleet.PlanRow{Cluster: c, Next: fleet.NextUnknown, Reason: trouble.Reason, Message: trouble.Message}
	})
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	fmt.Fprint(n.ErrOut, strings.Join(n.warnings.lines, ""))
	if err := showRows(&n.fleetCommand, &n.output, rows, fleet.NewPlans(n.version, rows), render.ClusterPlans); err != nil {
		return err
	}
	return n.outcome(rows)
}

// planOf makes the plan of a cluster.
func (n *fleetPlan) planOf(ctx context.Context, m member) (fleet.PlanRow, error) {
	p, said := n.capturing(m)
	defer func() { n.warnings.add(said.String()) }()
	shot, err := p.snapshotFrom(ctx, m.reader, n.version != "")
	if err != nil {
		return fleet.PlanRow{}, err
	}
	observes := shot.Policy.Observes()
	p.supposeManaged(&shot.Snapshot)
	if n.version != "" {
		supposed, _, err := request.SupposeVersion(shot.Snapshot, n.version, shot.TakenAt)
		if err != nil {
			return fleet.PlanRow{Cluster: m.Cluster, Next: fleet.NextBlocked, Message: oneLine(err.Error())}, nil
		}
		shot.Snapshot = supposed
	}
	if err := p.runPreflight(ctx, &shot.Snapshot, shot.TakenAt); err != nil {
		return fleet.PlanRow{}, err
	}
	row := fleet.NewPlanRow(m.Cluster, shot.Snapshot, request.NoneReleased(plan.Predict(shot.Snapshot, shot.TakenAt)))
	if observes && row.Next != fleet.NextNothing {
		row.Next, row.Reason, row.Message = fleet.NextBlocked, v1alpha1.ReasonObserved, "mode Observe: this is what would happen with Manage"
	}
	return row, nil
}

// capturing returns the program for one of the clusters, and what it writes.
func (f *fleetCommand) capturing(m member) (*program, *bytes.Buffer) {
	var said bytes.Buffer
	return f.in(m.access, io.Discard, &said), &said
}

// outcome returns what the exit code says.
func (n *fleetPlan) outcome(rows []fleet.PlanRow) error {
	err := outcomeOf(rows, func(r fleet.PlanRow) (named string, counts, silent bool) {
		return r.Context, !r.Repeated, r.Next == fleet.NextUnknown
	})
	if err == nil && n.exitCode && slices.ContainsFunc(rows, func(r fleet.PlanRow) bool { return !r.Repeated && r.Next != fleet.NextNothing }) {
		return errWork
	}
	return err
}
