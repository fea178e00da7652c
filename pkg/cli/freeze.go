package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
)

// freeze is `kubectl upgrade freeze` with its arguments.
type freeze struct {
	*program
	output
	dryRun
	name, until, lasts, reason, selector, timeZone string
	upgrades                                       []string
}

func newFreeze(p *program) *cobra.Command {
	f := &freeze{program: p}
	cmd := &cobra.Command{
		Use:   "freeze [NAME] (--until TIME | --for DURATION) --reason TEXT",
		Short: "Let nothing begin for a while",
		Long: `Creates a MaintenanceSchedule with one exclusion and no window: while it holds,
nothing begins, whatever window is open, not even for an upgrade that ignores
windows. Staging goes on, and nodes past their last check finish. It changes no
schedule that is there already, so it suits clusters that are kept in Git; and
with --dry-run=client -o yaml it writes what belongs there.

TIME is RFC 3339, or what a clock in --time-zone shows; DURATION is Go's, with
days of 24 hours. It ends by itself; ` + "`kubectl upgrade unfreeze`" + ` ends it before.`,
		Example: `  kubectl upgrade freeze --for 4h --reason "incident 4711"
  kubectl upgrade freeze christmas --until "2027-01-02 06:00" --time-zone Europe/Berlin --reason "nobody is here"
  kubectl upgrade freeze --for 14d --upgrades Minor --node-selector pool=db --reason "end of the quarter"
  kubectl upgrade freeze --for 2d --reason audit --dry-run=client -o yaml > freeze.yaml`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				f.name = args[0]
			}
			return f.run(cmd.Context())
		},
	}
	f.output.addTo(cmd)
	f.dryRun.addTo(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.until, "until", "", "When it ends: RFC 3339, or 2026-12-24 18:00 in --time-zone.")
	flags.StringVar(&f.lasts, "for", "", "How long it lasts, such as 90m, 4h or 14d.")
	flags.StringVar(&f.reason, "reason", "", "Why, for people who wait because of it. Required.")
	flags.StringSliceVar(&f.upgrades, "upgrades", nil, "What it stops: Patch, Minor, Reboot. Default: all.")
	flags.StringVar(&f.selector, "node-selector", "", "Only nodes with these labels, such as pool=db. Default: every node.")
	flags.StringVar(&f.timeZone, "time-zone", "", "The zone of --until, and that people read about it in. Default: this machine's for --until.")
	return cmd
}

func (f *freeze) run(ctx context.Context) error {
	if err := f.dryRun.check(); err != nil {
		return err
	}
	schedule, err := f.schedule()
	if err != nil {
		return err
	}
	if f.dryRun.mode != dryRunClient {
		if schedule, err = f.create(ctx, schedule); err != nil {
			return err
		}
	}
	if !f.forPeople() {
		return f.print(f.program, schedule)
	}
	holds := schedule.Spec.MaintenanceExclusions[0]
	options := f.drawing()
	options.Now = holds.StartTime.Time
	if options.Zone, err = zone(f.timeZone); err != nil {
		return err
	}
	fmt.Fprintf(f.Out, "maintenanceschedule.%s/%s created%s: holds until %s\n", v1alpha1.Group, schedule.Name, f.dryRun, render.When(holds.EndTime.Time, options))
	return nil
}

func (f *freeze) create(ctx context.Context, schedule *v1alpha1.MaintenanceSchedule) (*v1alpha1.MaintenanceSchedule, error) {
	reader, err := f.reader()
	if err != nil {
		return nil, err
	}
	if f.dryRun.mode == dryRunNone {
		reader.sign(ctx, schedule)
	}
	created, err := reader.kinds.MaintenanceSchedules.Create(ctx, schedule, metav1.CreateOptions{FieldManager: manager, DryRun: f.dryRun.options()})
	if apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("there is a MaintenanceSchedule %s already; `kubectl upgrade unfreeze %s` ends it, and `kubectl upgrade freeze NAME` makes another", schedule.Name, schedule.Name)
	}
	if err != nil {
		return nil, explain("creating MaintenanceSchedule "+schedule.Name, err)
	}
	created.TypeMeta = schedule.TypeMeta
	return created, nil
}

// schedule is what is to be created.
func (f *freeze) schedule() (*v1alpha1.MaintenanceSchedule, error) {
	if err := checkReason(f.reason); err != nil {
		return nil, err
	}
	now := f.now().UTC().Truncate(time.Second)
	end, err := f.end(now)
	if err != nil {
		return nil, err
	}
	upgrades, err := upgradeTypes("upgrades", f.upgrades)
	if err != nil {
		return nil, err
	}
	if f.name != "" {
		if problems := validation.IsDNS1123Subdomain(f.name); len(problems) > 0 {
			return nil, fmt.Errorf("NAME %q: %s", f.name, problems[0])
		}
	}
	s := &v1alpha1.MaintenanceSchedule{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MaintenanceSchedule"},
		ObjectMeta: metav1.ObjectMeta{Name: cmp.Or(f.name, "freeze-"+now.Format("20060102-1504"))},
	}
	if f.timeZone != "Local" { // another zone on every machine
		s.Spec.TimeZone = f.timeZone
	}
	if f.selector != "" {
		if s.Spec.NodeSelector, err = parseSelector(f.selector); err != nil {
			return nil, fmt.Errorf("--node-selector=%s: %w", f.selector, err)
		}
	}
	s.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{
		Period:   v1alpha1.Period{Name: "freeze", StartTime: metav1.NewTime(now), EndTime: metav1.NewTime(end)},
		Reason:   strings.TrimSpace(f.reason),
		Upgrades: upgrades,
	}}
	return s, nil
}

// end is the first instant after the freeze.
func (f *freeze) end(now time.Time) (time.Time, error) {
	in, err := zone(f.timeZone)
	if err != nil {
		return time.Time{}, err
	}
	var end time.Time
	switch {
	case (f.until == "") == (f.lasts == ""):
		return end, errors.New("say how long: either --until TIME or --for DURATION")
	case f.until != "":
		end, err = moment("until", f.until, in)
	default:
		var lasts time.Duration
		if lasts, err = span("for", f.lasts); err == nil {
			end = now.Add(lasts)
			err = years("for", f.lasts, end)
		}
	}
	if err == nil && !end.After(now) {
		err = fmt.Errorf("--until=%q: is over already", f.until)
	}
	return wholeSeconds(end), err
}

// wholeSeconds is t as the API keeps it: a freeze ends no earlier than was asked
// for.
func wholeSeconds(t time.Time) time.Time {
	return t.Add(time.Second - time.Nanosecond).UTC().Truncate(time.Second)
}

// upgradeTypes reads Patch, Minor and Reboot, however they are capitalized.
func upgradeTypes(flag string, words []string) ([]v1alpha1.UpgradeType, error) {
	var types []v1alpha1.UpgradeType
	for _, word := range words {
		known := []v1alpha1.UpgradeType{v1alpha1.TypePatch, v1alpha1.TypeMinor, v1alpha1.TypeReboot}
		i := slices.IndexFunc(known, func(t v1alpha1.UpgradeType) bool { return strings.EqualFold(string(t), word) })
		if i < 0 {
			return nil, fmt.Errorf("--%s: %q is not Patch, Minor or Reboot", flag, word)
		}
		if !slices.Contains(types, known[i]) {
			types = append(types, known[i])
		}
	}
	return types, nil
}
