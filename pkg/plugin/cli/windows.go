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
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// windows is `kubectl upgrade windows` with its arguments.
type windows struct {
	*program
	output
	files                             []string
	from, until, timeZone, kind, node string
	labels                            map[string]string
	count                             int

	query query
}

// defaultCount is how many openings are shown without --until and --count.
const defaultCount = 10

func newWindows(p *program) *cobra.Command {
	w := &windows{program: p, output: output{nameless: "openings have no names"}}
	cmd := &cobra.Command{
		Use:   "windows",
		Short: "List the next maintenance windows",
		Long: `Shows when nodes may be taken out of service: the windows of all schedules
together, merged if they overlap or touch, without the times of exclusions. The
schedules are read from the cluster, or with -f from files, without contacting the
cluster. Probable mistakes in a schedule are written to standard error.

By default only schedules without a nodeSelector count; use --node or --labels for
the windows of particular nodes.`,
		Example: `  kubectl upgrade windows
  kubectl upgrade windows -f schedules/ --from 2027-01-01 --until 2028-01-01
  kubectl upgrade windows --labels pool=db --type Minor --count 3
  kubectl upgrade windows -o jsonpath='{.items[0].start}'`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return inOrder(cmd, w) },
	}
	w.addTo(cmd)
	flags := cmd.Flags()
	flags.StringSliceVarP(&w.files, "filename", "f", nil, "Read schedules from this file, folder, or standard input (-), without contacting the cluster.")
	flags.StringVar(&w.from, "from", "", "Windows from this time on: RFC 3339, or 2026-12-24 18:00 in --time-zone. Default: now.")
	flags.StringVar(&w.until, "until", "", "Only windows that open before this time.")
	flags.IntVar(&w.count, "count", defaultCount, "How many windows to list at most. With --until and without --count: all.")
	flags.StringVar(&w.timeZone, "time-zone", "", "Time zone in which times are read and printed. Default: this machine's.")
	flags.StringVar(&w.kind, "type", "", "For upgrades of this type: Patch, Minor, Reboot, Rollback or Certificates. Default: subtract every exclusion, whatever its upgrades.")
	flags.StringToStringVar(&w.labels, "labels", nil, "For nodes with these labels, such as pool=db.")
	flags.StringVar(&w.node, "node", "", "For the node of this name, with its labels.")
	_ = cmd.RegisterFlagCompletionFunc("node", p.completeFlag(nodeNames))
	return cmd
}

func (w *windows) validate() (err error) {
	if _, err := labels.ValidatedSelectorFromSet(w.labels); err != nil {
		return fmt.Errorf("--labels: %w", err)
	}
	switch {
	case w.count < 1:
		return fmt.Errorf("--count=%d: must be 1 or more", w.count)
	case w.node != "" && (len(w.files) > 0 || len(w.labels) > 0):
		return errors.New("--node asks the cluster for its labels: leave out -f and --labels, or --node")
	case w.node == "":
		return nil
	}
	if w.node, err = nodeResource.name(w.node); err != nil {
		return fmt.Errorf("--node: %w", err)
	}
	return nil
}

// query is what the flags of `kubectl upgrade windows` ask for.
type query struct {
	schedules   []v1alpha1.MaintenanceSchedule
	labels      map[string]string
	kind        v1alpha1.UpgradeType
	from, until time.Time // until is zero where there is no limit
	count       int       // 0: no limit
	zone        *time.Location
}

// complete fills the query.
func (w *windows) complete(cmd *cobra.Command) (err error) {
	q := &w.query
	q.from, q.labels, q.count = w.now(), w.labels, w.count
	if q.zone, err = zone(w.timeZone); err != nil {
		return err
	}
	if w.from != "" {
		if q.from, err = parseTime("from", w.from, q.zone); err != nil {
			return err
		}
	}
	if w.until != "" {
		if q.until, err = parseTime("until", w.until, q.zone); err != nil {
			return err
		}
		if !q.until.After(q.from) {
			return fmt.Errorf("--until=%q: must be later than --from", w.until)
		}
		if !cmd.Flags().Changed("count") {
			q.count = 0
		}
	}
	if w.kind != "" {
		kinds, err := upgradeTypes("type", []string{w.kind})
		if err != nil {
			return err
		}
		q.kind = kinds[0]
	}
	return nil
}

func (w *windows) run(ctx context.Context) error {
	q := &w.query
	if err := w.read(ctx, q); err != nil {
		return err
	}
	openings, err := q.openings()
	if err != nil {
		return err
	}
	w.warn(*q)
	if !w.forPeople() {
		return w.print(w.program, view.NewWindowList(openings))
	}
	options := w.drawing()
	options.Now, options.Zone = q.from, q.zone
	_, err = io.WriteString(w.drawn, render.Windows(openings, options))
	return err
}

// read reads the schedules, and the labels of the node that --node names.
func (w *windows) read(ctx context.Context, q *query) (err error) {
	if len(w.files) > 0 {
		q.schedules, err = w.schedulesIn(w.files)
		return err
	}
	reader, err := w.reader()
	if err != nil {
		return err
	}
	if q.schedules, err = reader.schedules(ctx); err != nil {
		return err
	}
	if policy, err := reader.policy(ctx); err == nil { // which only says what people call the cluster
		w.noteName(policy)
	}
	if w.node == "" {
		return nil
	}
	node, err := reader.kube.CoreV1().Nodes().Get(ctx, w.node, metav1.GetOptions{})
	switch {
	case isMissing(err):
		return fmt.Errorf("there is no node %q; `kubectl get nodes` lists them", w.node)
	case err != nil:
		return explain("reading Node "+w.node, err)
	}
	q.labels = node.Labels
	return checkAnswer("reading Node "+w.node, node, w.node)
}

// warn writes what in the schedules is probably a mistake, and which of them were left
// out.
func (w *windows) warn(q query) {
	var others []string
	w.warnOfSchedules(q.schedules, q.from)
	for _, s := range q.schedules {
		if !view.Selects(s.Spec.NodeSelector)(q.labels) {
			others = append(others, s.Name)
		}
	}
	if edge := q.from.Add(schedule.Horizon); q.until.After(edge) {
		fmt.Fprintf(w.ErrOut, "Windows after %s are not computed.\n", edge.In(q.zone).Format("2006-01-02"))
	}
	if len(others) > 0 && len(q.labels) == 0 {
		fmt.Fprintf(w.ErrOut, "Not shown, because they have a nodeSelector: %s; see --node and --labels.\n", strings.Join(others, ", "))
	}
}

// openings returns those that begin before until, at most count. As it is not known how
// many begin before until, it asks the schedule for more and more.
func (q query) openings() ([]schedule.Opening, error) {
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
