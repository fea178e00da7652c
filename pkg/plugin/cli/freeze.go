package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/manifest"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// freeze is `kubectl upgrade freeze` with its arguments.
type freeze struct {
	*program
	output
	dryRun
	name, until, duration, reason, selector, timeZone string
	upgrades                                          []string
	certificates                                      bool

	schedule *v1alpha1.MaintenanceSchedule // the one to create
}

func newFreeze(p *program) *cobra.Command {
	f := &freeze{program: p}
	cmd := &cobra.Command{
		Use:   "freeze [NAME] --for DURATION --reason TEXT",
		Short: "Block upgrades for a while",
		Long: `Creates a MaintenanceSchedule with one exclusion and no window: while it is in
effect, no node begins, even if a window is open or the upgrade ignores windows.
Images are still staged, and nodes past their last check finish. It adds an object and
changes none, so it does not conflict with schedules that are kept in Git;
--dry-run=client -o yaml prints the object for your repository.

Upgrades of type Certificates go on, as a cluster whose certificates expire is lost:
--certificates blocks them, too.

TIME is RFC 3339, or local time in --time-zone; DURATION is such as 90m, 4h or 14d12h.
A freeze ends at that time, or with ` + "`kubectl upgrade unfreeze`" + `.`,
		Example: `  kubectl upgrade freeze --for 4h --reason "incident 4711"
  kubectl upgrade freeze christmas --until 2027-01-02 --reason "office closed"
  kubectl upgrade freeze --for 14d --upgrades Minor -l pool=db --reason close
  kubectl upgrade freeze --for 2d --reason audit --dry-run -o yaml > f.yaml`,
		Args:              freezeResource.optional,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.name = freezeResource.in(args)
			return inOrder(cmd, f)
		},
	}
	f.output.addTo(cmd)
	f.dryRun.addTo(cmd)
	f.addFreezeFlags(cmd)
	addSelector(cmd, &f.selector, "Only nodes with these labels, such as pool=db. Default: every node.")
	return cmd
}

// addFreezeFlags adds the flags that say what is frozen, and why, but for the nodes.
func (f *freeze) addFreezeFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.until, "until", "", "When it ends: RFC 3339, or 2026-12-24 18:00 in --time-zone.")
	flags.StringVar(&f.duration, "for", "", "How long it lasts, such as 90m, 4h or 14d.")
	flags.StringVar(&f.reason, "reason", "", "Why, for people who wait because of it. Required.")
	flags.StringSliceVar(&f.upgrades, "upgrades", nil, "Which upgrades it blocks: Patch, Minor, Reboot, Rollback, Certificates. Default: all but Certificates.")
	flags.BoolVar(&f.certificates, "certificates", false, "Block upgrades of every type, also Certificates and those that later versions add.")
	flags.StringVar(&f.timeZone, "time-zone", "", "Time zone of --until, and of the times shown for this freeze. Default: this machine's for --until.")
}

func (f *freeze) validate() error {
	if f.certificates && len(f.upgrades) > 0 {
		return errors.New("--certificates blocks upgrades of every type: leave out --upgrades, or add Certificates to it instead")
	}
	return cmp.Or(f.dryRun.check(), checkReason(f.reason))
}

// certificatesNote says that certificates are still renewed, unless the flags decide that. Else it is empty.
func (f *freeze) certificatesNote() string {
	if f.certificates || len(f.upgrades) > 0 {
		return ""
	}
	return "Certificates are still renewed; --certificates stops that, too."
}

// complete makes the object to create.
func (f *freeze) complete(*cobra.Command) (err error) {
	r := request.Freeze{Name: f.name, Start: f.now().UTC().Truncate(time.Second), Reason: f.reason}
	if r.End, err = f.end(r.Start); err != nil {
		return err
	}
	if r.Upgrades, err = upgradeTypes("upgrades", f.upgrades); err != nil {
		return err
	}
	if len(r.Upgrades) == 0 && !f.certificates {
		r.Upgrades = request.AllButCertificates()
	}
	if f.timeZone != "Local" { // it is another zone on every machine
		r.TimeZone = f.timeZone
	}
	if f.selector != "" {
		if r.NodeSelector, err = parseSelector(f.selector); err != nil {
			return fmt.Errorf("--selector=%s: %w", f.selector, err)
		}
	}
	if f.schedule, err = r.Object(); err != nil {
		return err
	}
	return manifest.Verify(f.schedule)
}

func (f *freeze) run(ctx context.Context) (err error) {
	schedule := f.schedule
	exclusion := schedule.Spec.MaintenanceExclusions[0]
	var reader *reader
	if f.dryRun.mode != dryRunClient {
		if reader, err = f.reader(); err != nil {
			return err
		}
		if schedule, err = f.create(ctx, reader, schedule); err != nil {
			return err
		}
	}
	if !f.forPeople() {
		return f.print(f.program, schedule)
	}
	f.readName(ctx, reader)
	options := f.drawing()
	options.Now = exclusion.StartTime.Time
	if options.Zone, err = zone(f.timeZone); err != nil {
		return err
	}
	answer := fmt.Sprintf("maintenanceschedule.%s/%s created%s%s: in effect until %s",
		v1alpha1.Group, schedule.Name, f.dryRun, f.inCluster(), render.When(exclusion.EndTime.Time, options))
	if note := f.certificatesNote(); note != "" {
		answer += ". " + note
	}
	fmt.Fprintln(f.told, answer)
	return nil
}

// create creates the object.
func (f *freeze) create(ctx context.Context, reader *reader, schedule *v1alpha1.MaintenanceSchedule) (*v1alpha1.MaintenanceSchedule, error) {
	if f.dryRun.mode == dryRunNone {
		reader.sign(ctx, schedule)
	}
	created, err := reader.kinds.MaintenanceSchedules.Create(ctx, schedule,
		metav1.CreateOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict, DryRun: f.dryRun.options()})
	if apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("there is a MaintenanceSchedule %s already; `kubectl upgrade unfreeze %s` ends it, and `kubectl upgrade freeze NAME` makes another",
			schedule.Name, schedule.Name)
	}
	if err != nil {
		return nil, explain("creating MaintenanceSchedule "+schedule.Name, err)
	}
	created.TypeMeta = schedule.TypeMeta
	return created, checkAnswer("creating MaintenanceSchedule "+schedule.Name, created, schedule.Name)
}

// end returns the first instant after the freeze.
func (f *freeze) end(now time.Time) (time.Time, error) {
	in, err := zone(f.timeZone)
	if err != nil {
		return time.Time{}, err
	}
	var end time.Time
	switch {
	case (f.until == "") == (f.duration == ""):
		return end, errors.New("say how long: either --until TIME or --for DURATION")
	case f.until != "":
		end, err = parseTime("until", f.until, in)
	default:
		var length time.Duration
		if length, err = parseDuration("for", f.duration); err == nil {
			end = now.Add(length)
			err = checkYear("for", f.duration, end)
		}
	}
	if err == nil && !end.After(now) {
		err = fmt.Errorf("--until=%q: is in the past", f.until)
	}
	return end, err
}

// unfreeze is `kubectl upgrade unfreeze` with its arguments.
type unfreeze struct {
	*program
	dryRun
	name string // empty: the only one

	reader *reader
}

func newUnfreeze(p *program) *cobra.Command {
	u := &unfreeze{program: p}
	cmd := &cobra.Command{
		Use:   "unfreeze [NAME]",
		Short: "End a freeze before its time",
		Long: `Deletes the freeze NAME, a MaintenanceSchedule that has only exclusions. Without
NAME it deletes the only one that is not over, or lists them when there are
several. It refuses to delete one that Flux, Argo CD or Helm would restore, and
names that owner.`,
		Example: `  kubectl upgrade unfreeze
  kubectl upgrade unfreeze christmas`,
		Args:              freezeResource.optional,
		ValidArgsFunction: p.complete(freezeNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			u.name = freezeResource.in(args)
			return inOrder(cmd, u)
		},
	}
	u.dryRun.addTo(cmd)
	return cmd
}

func (u *unfreeze) validate() error { return u.dryRun.check() }

func (u *unfreeze) complete(*cobra.Command) (err error) {
	u.reader, err = u.program.reader()
	return err
}

func (u *unfreeze) run(ctx context.Context) error {
	schedules, err := u.reader.schedules(ctx)
	if err != nil {
		return err
	}
	u.readName(ctx, u.reader)
	freezes, err := request.FreezeToEnd(schedules, u.name, u.now())
	switch {
	case len(freezes) > 1:
		fmt.Fprint(u.drawn, render.Freezes(view.NewFreezes(freezes, u.now()), u.drawing()))
		return err
	case err != nil:
		return err
	case len(freezes) == 0:
		fmt.Fprintf(u.ErrOut, "There is no freeze%s.\n", u.inCluster())
		return nil
	}
	target := freezes[0]
	if u.dryRun.mode != dryRunClient {
		options := metav1.NewPreconditionDeleteOptions(string(target.UID))
		options.Preconditions.ResourceVersion = &target.ResourceVersion
		options.DryRun = u.dryRun.options()
		if err := u.reader.kinds.MaintenanceSchedules.Delete(ctx, target.Name, *options); err != nil && !isMissing(err) {
			return explain("deleting MaintenanceSchedule "+target.Name, err)
		}
	}
	u.answer(fmt.Sprintf("maintenanceschedule.%s/%s deleted", v1alpha1.Group, target.Name), u.dryRun)
	for _, other := range view.NewFreezes(request.FreezesBeside(schedules, target.Name, u.now()), u.now()) {
		fmt.Fprintf(u.ErrOut, "Freeze %s stays, %s: `kubectl upgrade unfreeze %s` ends it.\n", other.Name, render.FreezeLasts(other, u.drawing()), other.Name)
	}
	return nil
}
