package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
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

// question is what was asked, understood.
type question struct {
	schedules   []v1alpha1.MaintenanceSchedule
	labels      map[string]string
	kind        v1alpha1.UpgradeType
	from, until time.Time // until is zero where there is no limit
	count       int       // 0: no limit
	zone        *time.Location
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
	_, err = io.WriteString(w.Out, render.Windows(openings, options))
	return err
}

// question reads the flags.
func (w *windows) question(counted bool) (q question, err error) {
	q.from, q.labels, q.count = w.now(), w.labels, w.count
	if q.zone, err = zone(w.timeZone); err != nil {
		return q, err
	}
	if w.from != "" {
		if q.from, err = moment("from", w.from, q.zone); err != nil {
			return q, err
		}
	}
	if w.until != "" {
		if q.until, err = moment("until", w.until, q.zone); err != nil {
			return q, err
		}
		if !counted {
			q.count = 0
		}
	}
	if w.kind != "" {
		kinds, err := upgradeTypes("type", []string{w.kind})
		if err != nil {
			return q, err
		}
		q.kind = kinds[0]
	}
	switch {
	case counted && w.count < 1:
		return q, fmt.Errorf("--count=%d: must be 1 or more", w.count)
	case w.until != "" && !q.until.After(q.from):
		return q, fmt.Errorf("--until=%q: must be later than --from", w.until)
	case w.ofNode != "" && (len(w.files) > 0 || len(w.labels) > 0):
		return q, errors.New("--node asks the cluster for its labels: leave out -f and --labels, or --node")
	case w.format() == "name":
		return q, errors.New("-o name: openings have no names; use -o json")
	}
	return q, nil
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

// openings are those that begin before until, and no more than count. How many
// lie before until is not known: it asks for more and more.
func (q question) openings() ([]schedule.Opening, error) {
	for n := max(q.count, defaultCount); ; n *= 4 {
		found, err := schedule.Next(q.schedules, q.labels, q.kind, q.from, n)
		if err != nil {
			return nil, err
		}
		complete := len(found) < n
		if !q.until.IsZero() {
			late := slices.IndexFunc(found, func(o schedule.Opening) bool { return !o.Start.Before(q.until) })
			if late >= 0 {
				found, complete = found[:late], true
			}
		}
		if q.count > 0 {
			return found[:min(q.count, len(found))], nil
		}
		if complete {
			return found, nil
		}
	}
}

// warn tells what in the schedules is surely not meant, and which of them were
// left out.
func (w *windows) warn(q question) {
	var others []string
	for _, s := range q.schedules {
		for _, finding := range schedule.Lint(s, q.from) {
			fmt.Fprintf(w.ErrOut, "warning: schedule %s: %s: %s\n", finding.Schedule, finding.Field, finding.Message)
		}
		if !concerns(s, q.labels) {
			others = append(others, s.Name)
		}
	}
	if len(others) > 0 && len(q.labels) == 0 {
		fmt.Fprintf(w.ErrOut, "Left out, as they concern some nodes only: %s; see --node and --labels.\n", strings.Join(others, ", "))
	}
}

func concerns(s v1alpha1.MaintenanceSchedule, of map[string]string) bool {
	if s.Spec.NodeSelector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s.Spec.NodeSelector)
	return err == nil && selector.Matches(labels.Set(of))
}
