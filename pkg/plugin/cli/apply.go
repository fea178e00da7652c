package cli

import (
	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
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
	yes, detach         bool
}

func newApply(p *program) *cobra.Command {
	a := &apply{program: p}
	cmd := &cobra.Command{
		Use:   "apply VERSION",
		Short: "Upgrade the cluster, and follow the upgrade",
		Long: `Checks the cluster, shows the plan with the expected times, asks for confirmation,
creates a ClusterUpgrade, and follows it to its end. The agents on the nodes do the
work: Ctrl-C stops the display, not the upgrade, and the same command, or
kubectl upgrade status --watch, follows it again from any machine.

VERSION is a version such as v1.35.4 (or 1.35.4), or a minor such as v1.35: the newest
patch of it that is available when the command runs. The command refuses a skipped
minor, a downgrade, an upgrade that a preflight check blocks (--ignore-check ignores
the findings of a check), and one whose nodes are all frozen at its start.

On a terminal the screen is redrawn; elsewhere each change becomes a line that begins
with its time. Exit codes: 0 the upgrade succeeded; 3 it failed, was deleted, or needs
a person to continue; 4 --timeout was exceeded.`,
		Example: `  kubectl upgrade apply v1.35
  kubectl upgrade apply v1.34.5 --yes --timeout 2h
  kubectl upgrade apply v1.35 --start-time "2026-12-24 18:00" --max-unavailable 20% --detach
  kubectl upgrade apply v1.35 --method SoftReboot
  kubectl upgrade apply v1.35 --ignore-check api-removed="nothing calls it any more, ticket 4711"
  kubectl upgrade apply v1.35 --dry-run=client -o yaml > upgrade.yaml`,
		Args:              oneVersion,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.request.Version = args[0]
			for _, name := range []string{"start-time", "max-unavailable", "method", "ignore-windows", "ignore-check"} {
				if cmd.Flags().Changed(name) {
					a.request.Flags = append(a.request.Flags, "--"+name)
				}
			}
			return a.run(cmd.Context())
		},
	}
	a.output.addTo(cmd)
	a.dryRun.addTo(cmd)
	flags := cmd.Flags()
	flags.Lookup("dry-run").Usage = "Must be none, client (check and plan, but send nothing) or server (also let the API server validate the object without storing it)."
	flags.Lookup("output").Usage = "Print the ClusterUpgrade as json, yaml, name, … and do not follow the upgrade; wide: a plan with more columns."
	flags.BoolVarP(&a.yes, "yes", "y", false, "Do not ask for confirmation.")
	flags.StringVar(&a.startTime, "start-time", "", "Do not begin before this time: RFC 3339, or 2026-12-24 18:00 in --time-zone. Images are staged at once.")
	flags.StringVar(&a.timeZone, "time-zone", "", "Time zone in which times are read and printed. Default: this machine's.")
	flags.StringVar(&a.request.MaxUnavailable, "max-unavailable", "", "How many nodes may be out of service at once: a number, or a percentage such as 20%.")
	flags.StringVar(&a.request.Method, "method", "", "Reboot; SoftReboot: drain, and start everything again but kernel and firmware (systemd 256 or later); or for patches Restart: restart the kubelet, without drain and reboot.")
	flags.BoolVar(&a.request.IgnoreWindows, "ignore-windows", false, "Begin outside maintenance windows too. Exclusions, such as a freeze, still apply.")
	flags.StringArrayVar(&a.ignoreChecks, "ignore-check", nil, "Ignore the findings of the check ID; ID=REASON records why. May be given several times.")
	flags.BoolVar(&a.request.Retry, "retry", false, "Replace a failed upgrade to this version by a new one.")
	flags.BoolVar(&a.detach, "detach", false, "Return as soon as the upgrade is created.")
	a.timeout.addTo(cmd, "How long to follow, such as 2h or 1d; the upgrade continues after that.")
	_ = cmd.RegisterFlagCompletionFunc("method", cobra.FixedCompletions([]cobra.Completion{"Reboot", "SoftReboot", "Restart"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("ignore-check", completeCheck)
	return cmd
}
