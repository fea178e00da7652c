package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/follow"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

func (a *apply) run(ctx context.Context) error {
	in, err := zone(a.timeZone)
	if err != nil {
		return err
	}
	if err := a.readFlags(in); err != nil {
		return err
	}
	shot, err := a.takeSnapshot(ctx)
	if err != nil {
		return err
	}
	a.supposeManaged(&shot.Snapshot)
	to, note, err := a.request.Target(shot.Snapshot, shot.TakenAt)
	if err != nil {
		return err
	}
	if note != "" {
		fmt.Fprintln(a.ErrOut, note)
	}
	existing, err := a.request.Existing(shot.Snapshot, to, shot.TakenAt)
	if err != nil {
		return err
	}
	if existing != nil {
		fmt.Fprintf(a.ErrOut, "ClusterUpgrade %s asks for %s already.%s\n", existing.Name, to, request.Waits(shot.Snapshot, existing, shot.TakenAt))
		return a.finish(ctx, existing)
	}
	u, err := a.request.Object(shot.Snapshot, to, shot.TakenAt)
	if err != nil {
		return err
	}
	for _, note := range request.Queue(shot.Snapshot, u, shot.TakenAt) {
		fmt.Fprintln(a.ErrOut, note)
	}
	decided, err := a.propose(ctx, shot, u, in)
	if err != nil || !request.HasWork(decided) {
		return err
	}
	created, err := a.create(ctx, u)
	if err != nil {
		return err
	}
	if a.forPeople() {
		fmt.Fprintf(a.Out, "clusterupgrade.%s/%s created%s\n", v1alpha1.Group, created.Name, a.dryRun)
	}
	if a.forPeople() && a.mode == dryRunNone {
		for _, missing := range view.Approvals(created, shot.Policy) {
			fmt.Fprintf(a.ErrOut, "It begins once it is approved: `%s`\n", missing.Command)
		}
	}
	return a.finish(ctx, created)
}

// propose shows what would happen, and refuses or asks. If there is nothing to do, it
// says so.
func (a *apply) propose(ctx context.Context, shot snapshotFile, u *v1alpha1.ClusterUpgrade, in *time.Location) (plan.Plan, error) {
	supposed := request.Suppose(shot.Snapshot, u, shot.TakenAt)
	if err := a.runPreflight(ctx, &supposed, shot.TakenAt); err != nil {
		return plan.Plan{}, err
	}
	decided := plan.Predict(supposed, shot.TakenAt)
	if err := a.show(supposed, decided, u.Name, in); err != nil {
		return decided, err
	}
	if err := request.RefuseDowngrade(shot.Snapshot, u, shot.TakenAt); err != nil {
		return decided, err
	}
	if !request.HasWork(decided) {
		fmt.Fprintf(a.ErrOut, "Nothing to do: every node is at %s.\n", u.Spec.Version)
		return decided, nil
	}
	if err := request.Refuse(supposed, decided, u); err != nil || a.mode != dryRunNone {
		return decided, err
	}
	return decided, a.confirm(ctx, decided, u)
}

// mostRows is how many nodes of a plan a person is shown before the question.
const mostRows = 20

// show writes findings and plan for people. With -o, only the object is printed.
func (a *apply) show(s fleet.Snapshot, decided plan.Plan, name string, in *time.Location) error {
	if !a.forPeople() {
		return nil
	}
	options := a.drawing()
	options.Zone, options.Wide = in, a.format() == "wide"
	if _, _, terminal := a.terminal(); terminal && !options.Wide {
		options.Rows = mostRows // so that question and plan are on one screen
	}
	upgrade := view.Upgrade(request.Planned(s, decided))
	if upgrade != nil {
		upgrade.Name = name
	}
	_, err := io.WriteString(a.drawn, render.Plan(decided, upgrade, options)+"\n")
	return err
}

// create creates the object, unless no server is to be asked.
func (a *apply) create(ctx context.Context, u *v1alpha1.ClusterUpgrade) (*v1alpha1.ClusterUpgrade, error) {
	if a.mode == dryRunClient {
		return u, nil
	}
	reader, err := a.reader()
	if err != nil {
		return nil, err
	}
	if a.mode == dryRunNone {
		reader.sign(ctx, u)
		reader.signChecks(ctx, u)
	}
	created, err := reader.kinds.ClusterUpgrades.Create(ctx, u, metav1.CreateOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict, DryRun: a.dryRun.options()})
	if apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("ClusterUpgrade %s has just been created by another person; `kubectl upgrade status` shows it, and the same command again follows it", u.Name)
	}
	return created, explain("creating ClusterUpgrade "+u.Name, err)
}

// finish prints the upgrade that exists now, or follows it.
func (a *apply) finish(ctx context.Context, u *v1alpha1.ClusterUpgrade) error {
	switch {
	case !a.forPeople():
		u.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterUpgrade"}
		return a.print(a.program, u)
	case a.mode != dryRunNone:
		return nil
	case a.detach:
		fmt.Fprintf(a.ErrOut, "Follow it with `kubectl upgrade status -w`; pause it with `kubectl upgrade suspend %s`.\n", u.Name)
		return nil
	}
	reader, err := a.reader()
	if err != nil {
		return err
	}
	first, err := reader.read(ctx)
	if err != nil {
		return err
	}
	return a.follow(ctx, reader, first, follow.Follower{Timeout: a.timeout.limit, Upgrade: u.Name})
}
