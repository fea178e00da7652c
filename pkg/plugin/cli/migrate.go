package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/migrate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// migration is what the verbs of `kubectl upgrade migrate` share.
type migration struct {
	*program
	output
	dryRun
	file, daemonSet, schedule string
	nodeSelector              string
	apply, undo, yes          bool
	timeout                   time.Duration
}

// month is how far the windows of both are compared.
const month = 31 * 24 * time.Hour

func newMigrate(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Change over from kured, FLUO or the sysupdate timer",
		Long: `Shows what the settings of another program become with kubectl-upgrade, one by one, and
changes over to it.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newMigrateKured(p), newMigrateFLUO(p), newMigrateTimer(p))
	for _, sub := range cmd.Commands() {
		sub.Args = explainArguments(sub.Args)
	}
	return cmd
}

// addTo adds the flags that change the cluster.
func (m *migration) addTo(cmd *cobra.Command) {
	m.output.addTo(cmd)
	m.dryRun.addTo(cmd)
	flags := cmd.Flags()
	flags.Lookup("dry-run").Usage = "With --apply or --undo: none, client (only say what would be done) or server (let the API server check each step without storing it)."
	flags.StringVarP(&m.file, "filename", "f", "", "Read the objects from this file, or standard input (-), without contacting the cluster.")
	flags.StringVar(&m.daemonSet, "daemonset", "", "The DaemonSet, as NAMESPACE/NAME, if there are several.")
	flags.StringVar(&m.nodeSelector, "node-selector", "", "Which nodes are managed afterwards, such as pool=web, or all. Default: those of the other program.")
	flags.BoolVar(&m.apply, "apply", false, "Change over: create the objects, pause the other program, and start.")
	flags.BoolVar(&m.undo, "undo", false, "Go back to what was before --apply.")
	flags.BoolVarP(&m.yes, "yes", "y", false, "Do not ask for confirmation.")
	flags.DurationVar(&m.timeout, "timeout", 30*time.Minute, "How long --apply and --undo wait for pods and nodes.")
}

// check refuses flags that do not go together.
func (m *migration) check() error {
	switch {
	case m.apply && m.undo:
		return errors.New("--apply and --undo: give one of them")
	case (m.apply || m.undo) && m.file != "":
		return errors.New("-f reads a file: --apply and --undo need the cluster")
	case (m.apply || m.undo) && !m.forPeople():
		return errors.New("-o: --apply and --undo print what they do; leave out -o, or --apply")
	case !m.apply && !m.undo && m.dryRun.mode != dryRunNone:
		return errors.New("--dry-run: without --apply or --undo nothing is changed anyway")
	}
	return m.dryRun.check()
}

// chooseNodes sets the nodes that --node-selector names.
func (m *migration) chooseNodes(result *migrate.Result) (err error) {
	switch m.nodeSelector {
	case "":
		return nil
	case "all":
		result.Policy.NodeSelector = nil
	default:
		if result.Policy.NodeSelector, err = parseSelector(m.nodeSelector); err != nil {
			return fmt.Errorf("--node-selector=%s: %w", m.nodeSelector, err)
		}
	}
	result.NodesChosen = true
	return nil
}

// show prints what the settings become, and the windows of both side by side.
func (m *migration) show(ctx context.Context, result migrate.Result) error {
	if !m.forPeople() {
		return m.print(m.program, objectsOf(result))
	}
	options := m.drawing()
	options.Wide = m.format() == "wide"
	if _, err := io.WriteString(m.drawn, render.Migration(result, options)+"\n"); err != nil {
		return err
	}
	if err := m.compare(ctx, result, options); err != nil {
		return err
	}
	if m.apply {
		return nil
	}
	text, err := yamlOf(result)
	if err != nil {
		return err
	}
	fmt.Fprintf(m.Out, "\n%s", text)
	hint := "-o yaml prints only the objects."
	if result.Schedule != nil {
		hint = "--apply changes over, after a question; " + hint
	}
	fmt.Fprintf(m.ErrOut, "\nNothing was changed. %s\n", hint)
	return nil
}

// compare draws the windows of both for the next month. Those of all schedules on the cluster
// count.
func (m *migration) compare(ctx context.Context, result migrate.Result, options render.Options) error {
	if result.Window == nil {
		return nil
	}
	var schedules []v1alpha1.MaintenanceSchedule
	if result.Schedule != nil {
		schedules = append(schedules, *result.Schedule)
		if in, err := time.LoadLocation(result.Schedule.Spec.TimeZone); err == nil {
			options.Zone = in
		}
	}
	if m.file == "" {
		reader, err := m.reader()
		if err != nil {
			return err
		}
		if others, err := reader.schedules(ctx); err == nil { // without its kinds there are none
			for _, other := range others {
				if result.Schedule == nil || other.Name != result.Schedule.Name {
					schedules = append(schedules, other)
				}
			}
		}
	}
	from := m.now().Truncate(time.Minute)
	until := from.Add(month)
	openings, err := schedule.Next(schedules, nil, v1alpha1.TypeReboot, from, 40*24)
	if err != nil {
		return err
	}
	var ours []migrate.Span
	for _, o := range openings {
		if o.End.IsZero() || o.End.After(until) {
			o.End = until
		}
		if o.Start.Before(until) {
			ours = append(ours, migrate.Span{Start: o.Start, End: o.End})
		}
	}
	pairs := migrate.Compare(result.Window.Openings(from, until), ours)
	_, err = io.WriteString(m.drawn, render.SideBySide(result.Program, pairs, until, options))
	return err
}
