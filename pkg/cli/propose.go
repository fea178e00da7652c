package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
)

// propose shows what would happen, refuses or asks, and does it.
func (a *apply) propose(ctx context.Context, shot snapshotFile, wanted *v1alpha1.ClusterUpgrade, in *time.Location) error {
	a.tellQueue(shot.Snapshot, wanted)
	foreseen := supposeObject(shot.Snapshot, wanted, shot.TakenAt)
	if err := a.runPreflight(ctx, &foreseen, shot.TakenAt); err != nil {
		return err
	}
	decided := plan.Predict(foreseen, shot.TakenAt)
	if err := a.show(foreseen, decided, wanted, in); err != nil {
		return err
	}
	if err := refuseQueue(lineOf(shot.Snapshot), wanted); err != nil {
		return err
	}
	if !leavesWork(decided) {
		fmt.Fprintf(a.ErrOut, "Nothing is to be done: every node is at %s.\n", wanted.Spec.Version)
		return nil
	}
	if err := a.refusal(foreseen, decided, wanted); err != nil {
		return err
	}
	if a.mode == dryRunNone {
		if err := a.ask(ctx, decided, wanted); err != nil {
			return err
		}
	}
	created, err := a.create(ctx, wanted)
	if err != nil {
		return err
	}
	if !a.forPeople() {
		return a.print(a.program, created)
	}
	fmt.Fprintf(a.Out, "clusterupgrade.%s/%s created%s\n", v1alpha1.Group, created.Name, a.dryRun)
	if a.mode != dryRunNone {
		return nil
	}
	for _, lacks := range approvals([]*v1alpha1.ClusterUpgrade{created}, shot.Policy) {
		fmt.Fprintf(a.ErrOut, "It begins once it is approved: `%s`\n", lacks.Command)
	}
	return a.follow(ctx, created.Name)
}

// tellQueue says which upgrades come before it.
func (a *apply) tellQueue(s fleet.Snapshot, wanted *v1alpha1.ClusterUpgrade) {
	if wanted.Spec.RetryOf != "" {
		return // it comes next
	}
	all := lineOf(s)
	for _, u := range all.open() {
		if all.stepsAside(u) {
			continue
		}
		state := "has not ended"
		if u.Spec.Suspend {
			state = fmt.Sprintf("is suspended (`kubectl upgrade resume %s` lets it go on)", u.Name)
		}
		fmt.Fprintf(a.ErrOut, "ClusterUpgrade %s %s and comes before it; this plan %s.\n", u.Name, state, treated(s, wanted))
	}
}

// mostRows is how many nodes of a plan a person is shown before the question.
const mostRows = 20

// show writes findings and plan for people; who asked for the object alone gets
// that.
func (a *apply) show(s fleet.Snapshot, decided plan.Plan, wanted *v1alpha1.ClusterUpgrade, in *time.Location) error {
	if !a.forPeople() {
		return nil
	}
	options := a.drawing()
	options.Zone, options.Wide = in, a.format() == "wide"
	if _, _, terminal := a.terminal(); terminal && !options.Wide {
		options.Rows = mostRows // the question shall be seen with what it is about
	}
	shown := viewPlanned(s, decided)
	if shown != nil {
		shown.Name = wanted.Name
	}
	_, err := io.WriteString(a.drawn, render.Plan(decided, shown, options)+"\n")
	return err
}
