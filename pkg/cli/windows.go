package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// windows is `kubectl upgrade windows` with its arguments.
type windows struct {
	*program
	output
	files                               []string
	from, until, timeZone, kind, ofNode string
	labels                              map[string]string
	count                               int
}

// defaultCount is how many openings are shown unless --until or --count says
// more.
const defaultCount = 10

func newWindows(p *program) *cobra.Command {
	w := &windows{program: p}
	cmd := &cobra.Command{
		Use:   "windows",
		Short: "The next openings, exclusions already taken out",
		Long: `Shows when nodes may be taken out of service: the windows of all schedules
together, merged where they overlap or touch, with what exclusions forbid cut out.
The schedules are the cluster's, or with -f those in files, for which no cluster
is needed. What is legal in a schedule and surely not meant is told on standard
error.

Schedules with a nodeSelector count for the nodes they select: say which with
--node or --labels.`,
		Example: `  kubectl upgrade windows
  kubectl upgrade windows -f schedules/ --from 2027-01-01 --until 2028-01-01
  kubectl upgrade windows --labels pool=db --type Minor --count 3
  kubectl upgrade windows -o jsonpath='{.items[0].start}'`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return w.run(cmd.Context(), cmd.Flags().Changed("count")) },
	}
	w.addTo(cmd)
	flags := cmd.Flags()
	flags.StringSliceVarP(&w.files, "filename", "f", nil, "Read schedules from this file, folder, or standard input (-), and ask no cluster.")
	flags.StringVar(&w.from, "from", "", "Look from here on: RFC 3339, or 2026-12-24 18:00 in --time-zone. Default: now.")
	flags.StringVar(&w.until, "until", "", "Only openings that begin before that.")
	flags.IntVar(&w.count, "count", defaultCount, "How many openings at most. With --until: all, unless it is given.")
	flags.StringVar(&w.timeZone, "time-zone", "", "The zone to read and print times in. Default: this machine's.")
	flags.StringVar(&w.kind, "type", "", "For upgrades of this type: Patch, Minor or Reboot. Default: every exclusion counts.")
	flags.StringToStringVar(&w.labels, "labels", nil, "For nodes with these labels, such as pool=db.")
	flags.StringVar(&w.ofNode, "node", "", "For the node of this name, with its labels.")
	_ = cmd.RegisterFlagCompletionFunc("node", p.completeNode)
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions([]cobra.Completion{"Patch", "Minor", "Reboot"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (w *windows) run(ctx context.Context, counted bool) error {
	q, err := w.question(counted)
	if err != nil {
		return err
	}
	if err := w.read(ctx, &q); err != nil {
		return err
	}
	openings, err := q.openings()
	if err != nil {
		return err
	}
	w.warn(q)
	if !w.forPeople() {
		return w.print(w.program, render.NewWindowList(openings))
	}
	options := w.drawing()
	options.Now, options.Zone = q.from, q.zone
	_, err = io.WriteString(w.drawn, render.Windows(openings, options))
	return err
}

// read gets the schedules, and the labels of the node that is asked about.
func (w *windows) read(ctx context.Context, q *question) (err error) {
	if len(w.files) > 0 {
		q.schedules, err = w.schedulesIn(w.files)
		return err
	}
	reader, err := w.reader()
	if err != nil {
		return err
	}
	list, err := reader.kinds.MaintenanceSchedules.List(ctx, metav1.ListOptions{})
	if err != nil {
		return explain("reading MaintenanceSchedules", err)
	}
	q.schedules = list.Items
	if w.ofNode == "" {
		return nil
	}
	node, err := reader.core.Nodes().Get(ctx, w.ofNode, metav1.GetOptions{})
	switch {
	case isMissing(err):
		return fmt.Errorf("there is no node %q; `kubectl get nodes` lists them", w.ofNode)
	case err != nil:
		return explain("reading Node "+w.ofNode, err)
	}
	q.labels = node.Labels
	return nil
}

// warn tells what in the schedules is surely not meant, and which of them were
// left out.
func (w *windows) warn(q question) {
	var others []string
	for _, s := range q.schedules {
		for _, finding := range schedule.Lint(s, q.from) {
			fmt.Fprintf(w.ErrOut, "warning: schedule %s: %s: %s\n", finding.Schedule, finding.Field, finding.Message)
		}
		if !selects(s.Spec.NodeSelector)(q.labels) {
			others = append(others, s.Name)
		}
	}
	if edge := q.from.Add(schedule.Horizon); q.until.After(edge) {
		fmt.Fprintf(w.ErrOut, "Nothing is looked for after %s.\n", edge.In(q.zone).Format("2006-01-02"))
	}
	if len(others) > 0 && len(q.labels) == 0 {
		fmt.Fprintf(w.ErrOut, "Left out, as they concern some nodes only: %s; see --node and --labels.\n", strings.Join(others, ", "))
	}
}
