package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// apply is `kubectl upgrade apply` with its arguments.
type apply struct {
	*program
	output
	dryRun
	patience
	version                                     string
	startTime, timeZone, maxUnavailable, method string
	ignoreWindows, yes, retry, detach           bool
	ignoreFlags                                 []string                // as they were given
	ignoreChecks                                []v1alpha1.IgnoredCheck // understood
	asked                                       []string                // flags that change what the ClusterUpgrade says
}

func newApply(p *program) *cobra.Command {
	a := &apply{program: p}
	cmd := &cobra.Command{
		Use:   "apply VERSION",
		Short: "Upgrade the cluster, and follow it",
		Long: `Looks for what speaks against it, shows the plan with the times that are expected,
asks, creates a ClusterUpgrade, and follows it to its end. The agents on the nodes
do the work: Ctrl-C detaches, and the same command, or kubectl upgrade status -w,
comes back to it, from anywhere.

VERSION is a release such as v1.35.4 (or 1.35.4), or a minor such as v1.35: the
newest patch of it on offer, which is settled once and shown. It refuses what
preflight finds to be in the way (--ignore-check lets a finding through, by the
check's id), a freeze, a skipped minor and a way back.

It ends with 0 when the upgrade succeeded, 3 when it failed or cannot go on by
itself, 4 when --timeout passed before. On a terminal the screen is redrawn;
elsewhere each change becomes a line that begins with its time.`,
		Example: `  kubectl upgrade apply v1.35
  kubectl upgrade apply v1.34.5 --yes --timeout 2h
  kubectl upgrade apply v1.35 --start-time "2026-12-24 18:00" --max-unavailable 20% --detach
  kubectl upgrade apply v1.35 --ignore-check api-removed="nothing calls it any more, ticket 4711"
  kubectl upgrade apply v1.35 --dry-run=client -o yaml > upgrade.yaml`,
		Args:              oneVersion,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.version = args[0]
			for _, name := range []string{"start-time", "max-unavailable", "method", "ignore-schedule", "ignore-check"} {
				if cmd.Flags().Changed(name) {
					a.asked = append(a.asked, "--"+name)
				}
			}
			return a.run(cmd.Context())
		},
	}
	a.output.addTo(cmd)
	a.dryRun.addTo(cmd)
	flags := cmd.Flags()
	flags.Lookup("dry-run").Usage = "client: look and plan, and create nothing; server: have the object checked as well, and not kept."
	flags.Lookup("output").Usage = "Print the ClusterUpgrade as json, yaml, name, … and do not follow it; wide: a plan with more columns."
	flags.BoolVarP(&a.yes, "yes", "y", false, "Do not ask.")
	flags.StringVar(&a.startTime, "start-time", "", "Begin then, and not before: RFC 3339, or 2026-12-24 18:00 in --time-zone. Images are staged at once.")
	flags.StringVar(&a.timeZone, "time-zone", "", "The zone to read and print times in. Default: this machine's.")
	flags.StringVar(&a.maxUnavailable, "max-unavailable", "", "How many nodes may be out of service at once: a number, or a percentage such as 20%.")
	flags.StringVar(&a.method, "method", "", "Reboot, or for patches Restart: restart the kubelet, without drain and reboot.")
	flags.BoolVar(&a.ignoreWindows, "ignore-schedule", false, "Begin outside maintenance windows too. Freezes and other exclusions still hold.")
	flags.StringArrayVar(&a.ignoreFlags, "ignore-check", nil, "Let the preflight findings of the check ID through; ID=REASON records why. May be given several times.")
	flags.BoolVar(&a.retry, "retry", false, "Take the place of the upgrade that failed, or was rolled back, and begin anew.")
	flags.BoolVar(&a.detach, "detach", false, "Do not follow it.")
	a.patience.addTo(cmd, "How long to follow, such as 2h or 1d; the upgrade goes on after that.")
	_ = cmd.RegisterFlagCompletionFunc("method", cobra.FixedCompletions([]cobra.Completion{"Reboot", "Restart"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("ignore-check", completeCheck)
	return cmd
}

func oneVersion(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one VERSION, got %d: `kubectl upgrade releases` shows what is on offer, and `%s --help` more", len(args), cmd.CommandPath())
	}
	return nil
}

var budget = regexp.MustCompile(`^([1-9]\d{0,5}|([1-9]\d?|100)%)$`)

func (a *apply) check() error {
	if err := a.patience.read(); err != nil {
		return err
	}
	switch {
	case a.timeout > 0 && a.detach:
		return errors.New("--timeout limits following: leave out --detach, or --timeout")
	case a.maxUnavailable != "" && !budget.MatchString(a.maxUnavailable):
		return fmt.Errorf("--max-unavailable=%s: must be a number from 1, or a percentage from 1%% to 100%%", a.maxUnavailable)
	case a.method != "" && a.method != string(v1alpha1.MethodReboot) && a.method != string(v1alpha1.MethodRestart):
		return fmt.Errorf("--method=%s: must be Reboot or Restart", a.method)
	}
	var err error
	if a.ignoreChecks, err = ignoredChecks(a.ignoreFlags); err != nil {
		return err
	}
	return a.dryRun.check()
}

func (a *apply) run(ctx context.Context) error {
	if err := a.check(); err != nil {
		return err
	}
	in, err := zone(a.timeZone)
	if err != nil {
		return err
	}
	start, err := a.start(in)
	if err != nil {
		return err
	}
	shot, err := a.takeSnapshot(ctx)
	if err != nil {
		return err
	}
	to, err := a.target(shot.Snapshot)
	if err != nil {
		return err
	}
	running, err := a.running(shot.Snapshot, to, start)
	if err != nil {
		return err
	}
	if running != nil {
		return a.attach(ctx, running, shot.Upgrades)
	}
	wanted, err := a.wanted(shot.Snapshot, to, start)
	if err != nil {
		return err
	}
	return a.propose(ctx, shot, wanted, in)
}

// start is when the upgrade may begin; nil: at once.
func (a *apply) start(in *time.Location) (*time.Time, error) {
	if a.startTime == "" {
		return nil, nil
	}
	at, err := moment("start-time", a.startTime, in)
	if err != nil {
		return nil, err
	}
	at = at.UTC().Truncate(time.Second)
	return &at, nil
}
