package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// fleetApply is `kubectl upgrade fleet apply` with its arguments.
type fleetApply struct {
	fleetCommand
	apply    apply
	warnings warnings

	all []fleet.Cluster
}

func newFleetApply(p *program) *cobra.Command {
	a := &fleetApply{fleetCommand: fleetCommand{program: p}, apply: apply{program: p}}
	cmd := &cobra.Command{
		Use:   "apply VERSION",
		Short: "Upgrade the clusters of one stage, and follow the upgrades",
		Long: `Checks each cluster as ` + "`kubectl upgrade apply`" + ` does, shows a row for each, asks once for all,
creates a ClusterUpgrade in each, and follows them until the last has ended. A cluster that
would refuse the upgrade, such as one that a check blocks, is left out and named; one that has
an upgrade to VERSION already is followed.

With a file of several stages, --stage says which: the next stage is another command, once
you have seen how this one went. Exit codes: 0 every upgrade succeeded; 3 one failed, was
deleted, or needs a person to continue; 4 --timeout was exceeded; 5 not all clusters answered;
1 a cluster was left out.`,
		Example: `  kubectl upgrade fleet apply v1.34.5 --fleet fleet.yaml --stage dev
  kubectl upgrade fleet apply v1.34.5 --contexts 'prod-*' --yes --timeout 12h
  kubectl upgrade fleet apply v1.35 --contexts 'prod-*' --dry-run=server`,
		Args:              oneVersion,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.apply.noteGiven(cmd, args[0])
			return inOrder(cmd, a)
		},
	}
	a.apply.output.nameless = "the upgrades are created in several clusters"
	a.apply.output.addTo(cmd)
	a.apply.dryRun.addTo(cmd)
	a.fleetCommand.addTo(cmd, "30s")
	cmd.Flags().Lookup("output").Usage = "Print what has been reached in each cluster as json, yaml, … and do not follow the upgrades; wide: rows with more columns."
	a.apply.addRequestFlags(cmd)
	return cmd
}

func (a *fleetApply) validate() error { return a.apply.validate() }

func (a *fleetApply) complete(cmd *cobra.Command) (err error) {
	if err := a.apply.complete(cmd); err != nil {
		return err
	}
	if a.all, err = a.choose(cmd); err != nil {
		return err
	}
	if file := a.choice.File; file != nil && len(file.Stages) > 1 && len(a.choice.Stages) == 0 && len(a.choice.Contexts) == 0 {
		return fmt.Errorf("the Fleet has %d stages, %s: say which, as in --stage %s", len(file.Stages), strings.Join(file.StageNames(), ", "), file.StageNames()[0])
	}
	return nil
}

func (a *fleetApply) run(ctx context.Context) error {
	defer quietPrograms()()
	a.sources = &sources{}
	found := forEach(ctx, &a.fleetCommand, a.all, a.ask, func(c fleet.Cluster, trouble *view.Problem) *asked {
		return &asked{row: fleet.PlanRow{Cluster: c, Next: fleet.NextUnknown, Reason: trouble.Reason, Message: trouble.Message}}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	leaveOutSame(found)
	fmt.Fprint(a.ErrOut, strings.Join(a.warnings.lines, ""))
	if err := a.show(a.plans(found)); err != nil {
		return err
	}
	if err := a.confirm(ctx, found); err != nil {
		return err
	}
	problem := a.create(ctx, found)
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return err
	}
	return a.end(ctx, found, problem)
}

// asked is what the request comes to in a cluster.
type asked struct {
	proposal
	row     fleet.PlanRow
	uid     string
	follows string // the upgrade to follow there. Empty: there is none
}

// plans returns a row for each cluster.
func (a *fleetApply) plans(found []*asked) fleet.Plans {
	rows := make([]fleet.PlanRow, 0, len(found))
	for _, one := range found {
		rows = append(rows, one.row)
	}
	return fleet.NewPlans(a.apply.request.Version, rows)
}

// ask returns what the request comes to in a cluster.
func (a *fleetApply) ask(ctx context.Context, m member) (*asked, error) {
	one := a.apply
	var said *bytes.Buffer
	one.program, said = a.capturing(m)
	defer func() { a.warnings.add(said.String()) }()
	shot, err := one.snapshotFrom(ctx, m.reader, true)
	if err != nil {
		return nil, err
	}
	found := &asked{uid: m.uid}
	observes := shot.Policy.Observes()
	found.proposal, err = one.prepare(ctx, shot)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		found.row = fleet.PlanRow{Cluster: m.Cluster, Version: fleet.OldestOf(shot.Snapshot), Next: fleet.NextBlocked, Message: oneLine(err.Error())}
	case found.existing != nil && !one.request.Ignores(found.existing).IsNone():
		flags := strings.Join(one.request.Ignores(found.existing).Flags(), ", ")
		found.row = fleet.PlanRow{Cluster: m.Cluster, Version: fleet.OldestOf(shot.Snapshot), Next: fleet.NextBlocked, Upgrade: found.existing.Name, To: found.existing.Spec.Version,
			Message: fmt.Sprintf("ClusterUpgrade %s asks for it already, and %s would change it: `kubectl upgrade apply --context %s` does that", found.existing.Name, flags, m.Context)}
	case found.existing != nil:
		found.row = fleet.PlanRow{Cluster: m.Cluster, Version: fleet.OldestOf(shot.Snapshot), Next: fleet.NextContinue,
			Upgrade: found.existing.Name, To: found.existing.Spec.Version, Message: "asks for it already, and is followed"}
	default:
		found.row = fleet.NewPlanRow(m.Cluster, found.supposed, found.decided)
		if err := found.refusal(); err != nil {
			found.row.Next, found.row.Reason, found.row.Message, found.row.Until = fleet.NextBlocked, "", oneLine(err.Error()), nil
		} else if found.hasWork() {
			found.row.Next = fleet.NextCreate
		}
		if observes && found.row.Next == fleet.NextCreate {
			found.row.Message = "mode Observe: it waits until the mode is Manage"
		}
	}
	return found, nil
}

// leaveOutSame leaves out what another context before it reaches, too.
func leaveOutSame(found []*asked) {
	first := map[string]string{}
	for _, one := range found {
		r := &one.row
		before, known := first[one.uid]
		switch {
		case one.uid == "" || r.Next == fleet.NextUnknown:
		case known:
			r.SameAs, r.Repeated = before, true
			*r = fleet.PlanRow{Cluster: r.Cluster, Version: r.Version, Next: fleet.NextNothing, Reason: fleet.ReasonSameCluster, Message: "the cluster of " + before}
		default:
			first[one.uid] = r.Context
		}
	}
}

// show writes what the request comes to.
func (a *fleetApply) show(plans fleet.Plans) error {
	if !a.apply.forPeople() {
		return nil
	}
	return showRows(&a.fleetCommand, &a.apply.output, plans.Items, plans, render.ClusterPlans)
}

// confirm asks once for all clusters, unless nothing would be created.
func (a *fleetApply) confirm(ctx context.Context, found []*asked) error {
	count, nodes := 0, 0
	var out []string
	for _, one := range found {
		switch one.row.Next {
		case fleet.NextCreate:
			count, nodes = count+1, nodes+one.row.Nodes
		case fleet.NextBlocked, fleet.NextUnknown:
			if !one.row.Repeated {
				out = append(out, one.row.Context)
			}
		}
	}
	if len(out) > 0 {
		fmt.Fprintf(a.ErrOut, "Left out: %s.\n", strings.Join(out, ", "))
	}
	if count == 0 || a.apply.yes || a.apply.mode != dryRunNone {
		return nil
	}
	return a.question(ctx, fmt.Sprintf("Upgrade %s, %d nodes, to %s?", fleet.Count(count), nodes, a.apply.request.Version), "nothing was changed")
}

// created is what came of the request to create an upgrade.
type created struct {
	of            *asked
	name, problem string // one of them
}

// create creates the upgrades, and notes those to follow. It returns why some could not be created.
func (a *fleetApply) create(ctx context.Context, found []*asked) error {
	create := map[string]*asked{} // by context
	var to []fleet.Cluster
	for _, one := range found {
		switch {
		case one.row.Repeated:
		case one.existing != nil && one.row.Next == fleet.NextContinue:
			one.follows = one.existing.Name
		case one.row.Next == fleet.NextCreate:
			create[one.row.Context] = one
			to = append(to, one.row.Cluster)
		}
	}
	results := forEach(ctx, &a.fleetCommand, to, func(ctx context.Context, m member) (created, error) {
		one := a.apply
		one.program, _ = a.capturing(m)
		u, err := one.create(ctx, create[m.Context].upgrade)
		if err != nil {
			return created{of: create[m.Context], problem: oneLine(err.Error())}, nil
		}
		return created{of: create[m.Context], name: u.Name}, nil
	}, func(c fleet.Cluster, trouble *view.Problem) created {
		return created{of: create[c.Context], problem: string(trouble.Reason) + ": " + trouble.Message}
	})
	var failed []string
	for _, r := range results {
		row := &r.of.row
		if r.problem != "" {
			failed = append(failed, row.Context)
			row.Next, row.Reason, row.Message = fleet.NextBlocked, "", r.problem
			fmt.Fprintf(a.ErrOut, "%s: %s\n", row.Context, r.problem)
			continue
		}
		row.Upgrade, r.of.follows = r.name, r.name
		if a.apply.forPeople() {
			fmt.Fprintf(a.Out, "%s: clusterupgrade.kubectl-upgrade.dev/%s created%s\n", row.Context, r.name, a.apply.dryRun)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("in %d of %s no upgrade was created: %s; the same command again goes on", len(failed), fleet.Count(len(to)), view.Few(failed))
	}
	return nil
}

// end prints what exists now, or follows it, and returns what the exit code says.
func (a *fleetApply) end(ctx context.Context, found []*asked, problem error) error {
	var err error
	switch follows := slices.ContainsFunc(found, func(one *asked) bool { return one.follows != "" }); {
	case !a.apply.forPeople():
		err = a.apply.print(a.program, a.plans(found))
	case a.apply.mode != dryRunNone || !follows:
	case a.apply.detach:
		fmt.Fprintln(a.ErrOut, "Follow them with `kubectl upgrade fleet status -w`.")
	default:
		err = a.followAll(ctx, found)
	}
	var left, silent []string
	count := 0
	for _, one := range found {
		if one.row.Repeated {
			continue
		}
		count++
		switch one.row.Next {
		case fleet.NextBlocked:
			left = append(left, one.row.Context)
		case fleet.NextUnknown:
			silent = append(silent, one.row.Context)
		}
	}
	switch {
	case err != nil:
		return errors.Join(err, problem)
	case problem != nil:
		return problem
	case len(left) > 0:
		return fmt.Errorf("%d of %s left out: %s; the rows say why", len(left)+len(silent), fleet.Count(count), view.Few(append(left, silent...)))
	case len(silent) > 0:
		return unansweredOf(silent, count)
	}
	return nil
}

// followAll follows the upgrades until all have ended.
func (a *fleetApply) followAll(ctx context.Context, found []*asked) error {
	var all []fleet.Cluster
	following := map[string]string{}
	for _, one := range found {
		if one.follows != "" {
			all = append(all, one.row.Cluster)
			following[one.row.Context] = one.follows
		}
	}
	s := &fleetStatus{fleetCommand: a.fleetCommand, output: a.apply.output}
	s.limit = min(s.limit, followLimit)
	err := s.follow(ctx, all, following)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(a.ErrOut, "%s.\n", capital(s.left))
	}
	if next := a.nextStage(); err == nil && next != "" {
		fmt.Fprintf(a.ErrOut, "Stage %s has %s. The next one: kubectl upgrade fleet apply %s --fleet %s --stage %s\n",
			a.choice.Stages[0], a.apply.request.Version, a.apply.request.Version, fleet.Quote(a.file), next)
	}
	return err
}

// nextStage returns the stage after the one that was upgraded. Empty: there is none.
func (a *fleetApply) nextStage() string {
	if a.choice.File == nil || len(a.choice.Stages) != 1 || len(a.choice.Contexts) > 0 || a.selector != "" {
		return ""
	}
	names := a.choice.File.StageNames()
	if i := slices.Index(names, a.choice.Stages[0]); i >= 0 && i+1 < len(names) {
		return names[i+1]
	}
	return ""
}
