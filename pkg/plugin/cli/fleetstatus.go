package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// fleetStatus is `kubectl upgrade fleet status` with its arguments.
type fleetStatus struct {
	fleetCommand
	output
	timeout timeout
	watch   bool
	left    string // how the upgrades go on, once they are not followed any more
}

func newFleetStatus(p *program) *cobra.Command {
	s := &fleetStatus{fleetCommand: fleetCommand{program: p}}
	cmd := &cobra.Command{
		Use:   "status [CONTEXT...]",
		Short: "Show a row for each cluster, and why it is not done",
		Long: `Asks all clusters at once and shows a row for each: its stage, the versions
of its kubelets, the version that is next, how many nodes are done, and its
state. That is in capital letters where a person has something to solve, and
says the reason that needs a person first. -o wide adds for how long a patch
is lacking, the window that is open or the next one, and the reasons' codes.
With CONTEXT, these clusters in full, as ` + "`kubectl upgrade status`" + ` shows
them.

A cluster that does not answer within --cluster-timeout is a row, and not an error; it
makes the exit code 5. With --watch it asks again and again, keeps the last answer of a
cluster that went silent with its age, and ends when the upgrades that it saw have ended,
and clusters that follow others by themselves have what those run:
0 they succeeded; 3 one failed, or needs a person to continue; 4 --timeout was exceeded.`,
		Example: `  kubectl upgrade fleet status --contexts 'prod-*'
  kubectl upgrade fleet status --fleet fleet.yaml --stage dev -w --timeout 2h
  kubectl upgrade fleet status prod-eu-1 prod-us-1
  kubectl upgrade fleet status --contexts '*' \
    -o jsonpath='{.items[?(@.needsPerson)].context}'
  kubectl upgrade fleet status --contexts '*' \
    -o custom-columns=CLUSTER:.context,RUNS:.version,WHY:.reason`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.run(cmd, args)
		},
		ValidArgsFunction: s.completeContexts,
	}
	s.output.addTo(cmd)
	s.fleetCommand.addTo(cmd, followLimit.String())
	cmd.Flags().BoolVarP(&s.watch, "watch", "w", false, "Ask again and again, until the upgrades have ended.")
	s.timeout.addTo(cmd, "0", "With --watch: how long to follow, such as 30m or 1d.")
	return cmd
}

func (s *fleetStatus) check(named bool) error {
	switch {
	case s.timeout.limit > 0 && !s.watch:
		return errors.New("--timeout limits --watch: add -w; --cluster-timeout limits each cluster")
	case s.watch && !s.forPeople():
		return fmt.Errorf("--watch is for people: leave out -o %s, or --watch", s.format())
	case s.watch && named:
		return errors.New("--watch shows a row for each cluster: choose them with --contexts, or leave out --watch")
	}
	return nil
}

func (s *fleetStatus) run(cmd *cobra.Command, named []string) error {
	if err := s.check(len(named) > 0); err != nil {
		return err
	}
	if len(s.choice.Contexts) > 0 && len(named) > 0 {
		return errors.New("CONTEXT names clusters, as --contexts does: leave one of them out")
	}
	s.choice.Contexts = append(s.choice.Contexts, named...)
	all, err := s.choose(cmd)
	if err != nil {
		return err
	}
	defer quietPrograms()()
	if s.watch {
		return s.follow(cmd.Context(), all, nil)
	}
	answers := forEach(cmd.Context(), &s.fleetCommand, all, s.answerOf, noAnswer)
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	now := s.now()
	rows := make([]fleet.Row, len(answers))
	for i, a := range answers {
		rows[i] = fleet.NewRow(a, now)
		if len(named) > 0 && a.Snapshot != nil {
			full := view.NewStatus(*a.Snapshot, now)
			rows[i].Status = &full
		}
	}
	shown := fleet.NewStatus(rows)
	if err := s.show(shown, len(named) > 0); err != nil {
		return err
	}
	return outcomeOf(shown.Items, answerOfRow)
}

// show writes the rows in the format that was chosen.
func (s *fleetStatus) show(shown fleet.Status, full bool) error {
	table := render.Clusters
	if full {
		table = s.drawFull
	}
	return showRows(&s.fleetCommand, &s.output, shown.Items, shown, table)
}

// drawFull draws each cluster as `kubectl upgrade status` does.
func (s *fleetStatus) drawFull(shown fleet.Status, options render.Options) string {
	var pages []string
	for _, r := range shown.Items {
		page := "Cluster:    " + r.Context + "\n"
		if r.Stage != "" {
			page = "Cluster:    " + r.Context + ", stage " + r.Stage + "\n"
		}
		if r.Status == nil {
			page += render.ClusterTrouble(r, options)
		} else {
			page += render.Screen(*r.Status, options)
		}
		pages = append(pages, page)
	}
	return strings.Join(pages, "\n")
}
