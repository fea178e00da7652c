package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/manifest"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/watch"
)

// apply is `kubectl upgrade apply` with its arguments.
type apply struct {
	*program
	output
	dryRun
	timeout             timeout
	request             request.Upgrade
	startTime, timeZone string
	ignoreChecks        []string
	ignoreGates         []string
	yes, detach         bool

	zone *time.Location
}

// dryRunOfPlan is what --dry-run means where a plan is made first.
const dryRunOfPlan = "Must be none, client (check and plan, but send nothing) or server (also let the API server validate the object without storing it)."

func newApply(p *program) *cobra.Command {
	a := &apply{program: p}
	cmd := &cobra.Command{
		Use:   "apply VERSION",
		Short: "Upgrade the cluster, and follow the upgrade",
		Long: `Checks the cluster, shows the plan with the expected times, asks for confirmation,
creates a ClusterUpgrade, and follows it to its end. The agents on the nodes do the
work: Ctrl-C stops the display, not the upgrade, and the same command, or
kubectl upgrade status --watch, follows it again from any machine. To one that
exists --ignore-gate, --ignore-check and --ignore-windows are added.

VERSION is a version such as v1.35.4 (or 1.35.4), or a minor such as v1.35: the newest
patch of it that is available when the command runs. The command refuses a skipped
minor, a downgrade, an upgrade that a preflight check blocks (--ignore-check ignores
the findings of a check), and one whose nodes are all frozen at its start.

On a terminal the screen is redrawn; elsewhere each change becomes a line that begins
with its time. Exit codes: 0 the upgrade succeeded; 3 it failed, was deleted, or needs
a person to continue; 4 --timeout was exceeded.`,
		Example: `  kubectl upgrade apply v1.35
  kubectl upgrade apply v1.34.5 --yes --timeout 2h
  kubectl upgrade apply v1.35 --start-time "2026-12-24 18:00" --detach
  kubectl upgrade apply v1.35 --method SoftReboot
  kubectl upgrade apply v1.35 --ignore-check api-removed="nothing calls it"
  kubectl upgrade apply v1.34.5 --ignore-gate alerts="this patch mends it"
  kubectl upgrade apply v1.35 --dry-run=client -o yaml > upgrade.yaml`,
		Args:              oneVersion,
		ValidArgsFunction: p.complete(versionsOnOffer),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.noteGiven(cmd, args[0])
			return inOrder(cmd, a)
		},
	}
	a.output.addTo(cmd)
	a.dryRun.addTo(cmd)
	flags := cmd.Flags()
	flags.Lookup("dry-run").Usage = dryRunOfPlan
	flags.Lookup("output").Usage = "Print the ClusterUpgrade as json, yaml, name, … and do not follow the upgrade; wide: a plan with more columns."
	a.addRequestFlags(cmd)
	return cmd
}

// addRequestFlags adds the flags that say what is asked for, and how it is followed.
func (a *apply) addRequestFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&a.yes, "yes", "y", false, "Do not ask for confirmation.")
	flags.StringVar(&a.request.Reason, "reason", "", "Why, for people who read the record.")
	flags.StringVar(&a.startTime, "start-time", "", "Do not begin before this time: RFC 3339, or 2026-12-24 18:00 in --time-zone. Images are staged at once.")
	flags.StringVar(&a.timeZone, "time-zone", "", "Time zone in which times are read and printed. Default: this machine's.")
	if a.request.Type != v1alpha1.TypeCertificates { // which takes no node out of service
		flags.StringVar(&a.request.MaxUnavailable, "max-unavailable", "", "How many nodes may be out of service at once: a number, or a percentage such as 20%.")
	}
	if a.request.Type.HasVersion() {
		flags.StringVar(&a.request.Method, "method", "",
			"Reboot; SoftReboot: drain, and start everything again but kernel and firmware (systemd 256 or later); or for patches Restart: restart the kubelet, without drain and reboot.")
		_ = cmd.RegisterFlagCompletionFunc("method", cobra.FixedCompletions([]cobra.Completion{"Reboot", "SoftReboot", "Restart"}, cobra.ShellCompDirectiveNoFileComp))
	}
	flags.BoolVar(&a.request.IgnoreWindows, "ignore-windows", false, "Begin outside maintenance windows too. Exclusions, such as a freeze, still apply.")
	flags.StringArrayVar(&a.ignoreChecks, "ignore-check", nil, "Ignore the findings of a check: ID=REASON, or ID with --reason. May be given several times.")
	flags.StringArrayVar(&a.ignoreGates, "ignore-gate", nil,
		"Do not wait for the UpgradePolicy's gate NAME: NAME=REASON, which is recorded. It needs the verb ignore-gates. May be given several times.")
	flags.BoolVar(&a.request.Retry, "retry", false, "Replace a failed upgrade to this version by a new one, which also runs failed hooks again.")
	flags.BoolVar(&a.detach, "detach", false, "Return as soon as the upgrade is created.")
	a.timeout.addTo(cmd, "0", "How long the command may take, such as 2h or 1d; the upgrade continues after that.")
	_ = cmd.RegisterFlagCompletionFunc("ignore-check", completeCheck)
}

// noteGiven notes the version, and the flags that an upgrade which exists may contradict.
func (a *apply) noteGiven(cmd *cobra.Command, version string) {
	a.request.Version = version
	for _, name := range []string{"start-time", "max-unavailable", "method", "reason", "ignore-windows"} {
		if cmd.Flags().Changed(name) {
			a.request.Flags = append(a.request.Flags, "--"+name)
		}
	}
}

func oneVersion(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("expected one VERSION, got %d: `kubectl upgrade releases` lists what is available; see `%s --help`", len(args), cmd.CommandPath())
	}
	return nil
}

// maxUnavailable is the API's pattern for a number of nodes, or a percentage of them.
var maxUnavailable = regexp.MustCompile(`^([1-9]\d{0,5}|([1-9]\d?|100)%)$`)

func (a *apply) validate() error {
	if err := cmp.Or(a.request.Check(), checkLength("reason", a.request.Reason)); err != nil {
		return err
	}
	switch r := a.request; {
	case a.timeout.limit > 0 && a.detach:
		return errors.New("--timeout limits following: leave out --detach, or --timeout")
	case r.MaxUnavailable != "" && !maxUnavailable.MatchString(r.MaxUnavailable):
		return fmt.Errorf("--max-unavailable=%s: must be a number from 1, or a percentage from 1%% to 100%%", r.MaxUnavailable)
	case r.Method != "" && !slices.Contains(v1alpha1.Methods, v1alpha1.Method(r.Method)):
		return fmt.Errorf("--method=%s: must be Reboot, SoftReboot or Restart", r.Method)
	}
	return a.dryRun.check()
}

// complete fills the request.
func (a *apply) complete(*cobra.Command) (err error) {
	if a.zone, err = zone(a.timeZone); err != nil {
		return err
	}
	a.request.Reason = strings.TrimSpace(a.request.Reason)
	if a.request.IgnoreChecks, err = ignoredChecks(a.ignoreChecks, a.request.Reason); err != nil {
		return err
	}
	if a.request.IgnoreGates, err = ignoredGates(a.ignoreGates); err != nil {
		return err
	}
	if a.startTime != "" {
		at, err := parseTime("start-time", a.startTime, a.zone)
		if err != nil {
			return err
		}
		a.request.StartTime = new(at.UTC().Truncate(time.Second))
	}
	return nil
}

func (a *apply) run(ctx context.Context) error {
	err := a.once(ctx)
	if apierrors.IsAlreadyExists(err) { // another command was first: its upgrade is followed
		err = a.once(ctx)
	}
	return err
}

func (a *apply) once(ctx context.Context) error {
	shot, err := a.takeSnapshot(ctx, true)
	if err != nil {
		return err
	}
	p, err := a.prepare(ctx, shot)
	if err != nil {
		return err
	}
	if p.existing != nil {
		fmt.Fprintf(a.ErrOut, "ClusterUpgrade %s asks for %s already.%s\n", p.existing.Name, request.Asked(p.existing), request.Waits(p.shot.Snapshot, p.existing, shot.TakenAt))
		if err := a.ignoreMore(ctx, p.existing); err != nil {
			return err
		}
		return a.finish(ctx, p.existing)
	}
	if err := a.propose(ctx, p); err != nil || !p.hasWork() {
		return err
	}
	created, err := a.create(ctx, p.upgrade)
	if err != nil {
		return err
	}
	if a.forPeople() {
		a.answer(fmt.Sprintf("clusterupgrade.%s/%s created", v1alpha1.Group, created.Name), a.dryRun)
	}
	return a.finish(ctx, created)
}

// proposal is what a request comes to in a cluster.
type proposal struct {
	shot     snapshotFile
	existing *v1alpha1.ClusterUpgrade // the one that asks for the same. Nil: there is none
	upgrade  *v1alpha1.ClusterUpgrade // the one to create
	supposed clusterstate.Snapshot    // in which it is active
	decided  plan.Plan                // for that
}

// prepare returns what the request comes to in the cluster of the snapshot. It makes the checks.
func (a *apply) prepare(ctx context.Context, shot snapshotFile) (p proposal, err error) {
	if err := a.request.CheckGates(shot.Policy); err != nil {
		return p, err
	}
	a.supposeManaged(&shot.Snapshot)
	p.shot = shot
	to, note, err := a.request.Target(shot.Snapshot, shot.TakenAt)
	if err != nil {
		return p, err
	}
	if note != "" {
		fmt.Fprintln(a.ErrOut, note)
	}
	if p.existing, err = a.request.Existing(shot.Snapshot, to, shot.TakenAt); err != nil || p.existing != nil {
		return p, err
	}
	if p.upgrade, err = a.request.Object(shot.Snapshot, to, shot.TakenAt); err != nil {
		return p, err
	}
	for _, note := range request.Queue(shot.Snapshot, p.upgrade, shot.TakenAt) {
		fmt.Fprintln(a.ErrOut, note)
	}
	p.supposed = request.Suppose(shot.Snapshot, p.upgrade, shot.TakenAt)
	if err := a.runPreflight(ctx, &p.supposed, shot.TakenAt); err != nil {
		return p, err
	}
	p.decided = request.NoneReleased(plan.Predict(p.supposed, shot.TakenAt))
	return p, nil
}

// ignoreMore has the upgrade, which exists, ignore what it does not ignore yet.
func (a *apply) ignoreMore(ctx context.Context, u *v1alpha1.ClusterUpgrade) error {
	more := a.request.Ignores(u)
	if more.IsNone() {
		return nil
	}
	if !a.yes && a.mode == dryRunNone {
		if err := a.question(ctx, fmt.Sprintf("Let ClusterUpgrade %s%s ignore %s?", u.Name, a.ofCluster(), more), "nothing was changed"); err != nil {
			return err
		}
	}
	reader, err := a.reader()
	if err != nil {
		return err
	}
	_, err = reader.change(ctx, u.Name, a.dryRun, func(now *v1alpha1.ClusterUpgrade, user string) (map[string]any, error) {
		if now.Status.Outcome != "" {
			return nil, fmt.Errorf("ClusterUpgrade %s has ended (%s)", u.Name, now.Status.Outcome)
		}
		fields := more.AddTo(now, user)
		u.Spec = now.Spec
		return fields, nil
	})
	if err != nil {
		return err
	}
	if owner := request.GitOwner(u); owner != "" {
		fmt.Fprintf(a.ErrOut, "warning: %s owns ClusterUpgrade %s and may undo this: set it there too\n", owner, u.Name)
	}
	if a.forPeople() {
		a.answer(fmt.Sprintf("clusterupgrade.%s/%s ignores %s", v1alpha1.Group, u.Name, more), a.dryRun)
	}
	return nil
}

// hasWork reports whether anything is to be done, or would be if it could.
func (p proposal) hasWork() bool {
	return request.HasWork(p.decided) || request.RetriesHook(p.shot.Snapshot, p.upgrade)
}

// refusal returns why the upgrade is not begun.
func (p proposal) refusal() error {
	if err := request.RefuseDowngrade(p.shot.Snapshot, p.upgrade, p.shot.TakenAt); err != nil {
		return err
	}
	if !p.hasWork() {
		_, err := request.Idle(p.decided, p.upgrade)
		return err
	}
	return request.Refuse(p.supposed, p.decided, p.upgrade)
}

// propose shows what would happen, and refuses or asks. If there is nothing to do, it
// says so.
func (a *apply) propose(ctx context.Context, p proposal) error {
	if p.hasWork() || a.request.Type.HasVersion() { // without work and a version the table says no more than the line
		if err := a.show(p); err != nil {
			return err
		}
	}
	if err := p.refusal(); err != nil {
		return err
	}
	if !p.hasWork() {
		why, err := request.Idle(p.decided, p.upgrade)
		fmt.Fprintf(a.ErrOut, "Nothing to do%s: %s.\n", a.inCluster(), why)
		return err
	}
	if a.mode != dryRunNone {
		return nil
	}
	if a.forPeople() {
		for _, missing := range view.Approvals(p.upgrade, p.shot.Policy) {
			fmt.Fprintf(a.ErrOut, "It begins once it is approved: `%s`\n", missing.Command)
		}
	}
	return a.confirm(ctx, p.decided, p.upgrade)
}

// mostRows is how many nodes of a plan a person is shown before the question.
const mostRows = 20

// show writes findings and plan for people. With -o, only the object is printed.
func (a *apply) show(p proposal) error {
	if !a.forPeople() {
		return nil
	}
	options := a.drawing()
	options.Zone, options.Wide = a.zone, a.format() == "wide"
	if _, _, terminal := a.terminal(); terminal && !options.Wide {
		options.Rows = mostRows // so that question and plan are on one screen
	}
	upgrade := view.NewUpgrade(request.Planned(p.supposed, p.decided))
	if upgrade != nil {
		upgrade.Name, upgrade.Rollback = p.upgrade.Name, view.NewRollback(p.shot.Snapshot, p.upgrade, p.decided)
	}
	_, err := io.WriteString(a.drawn, render.Plan(p.decided, upgrade, options)+"\n")
	return err
}

// create creates the object, unless no server is to be asked.
func (a *apply) create(ctx context.Context, u *v1alpha1.ClusterUpgrade) (*v1alpha1.ClusterUpgrade, error) {
	if err := manifest.Verify(u); err != nil {
		return nil, err
	}
	if a.mode == dryRunClient {
		return u, nil
	}
	reader, err := a.reader()
	if err != nil {
		return nil, err
	}
	if a.mode == dryRunNone {
		reader.sign(ctx, u)
		reader.signIgnored(ctx, u)
	}
	created, err := reader.kinds.ClusterUpgrades.Create(ctx, u, metav1.CreateOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict, DryRun: a.dryRun.options()})
	if apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("ClusterUpgrade %s has just been created by another person; `kubectl upgrade status` shows it, and the same command again follows it: %w", u.Name, err)
	}
	if err != nil {
		return nil, explain("creating ClusterUpgrade "+u.Name, err)
	}
	return created, checkAnswer("creating ClusterUpgrade "+u.Name, created, u.Name)
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
	return a.follow(ctx, reader, first, watch.Watcher{Upgrade: u.Name})
}
