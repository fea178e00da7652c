package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report/markdown"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report/page"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/watch"
)

// reporting is `kubectl upgrade report` with its arguments.
type reporting struct {
	*program
	output
	timeout            timeout
	pastName                  // empty: the active one, or else the last one
	file, snapshotFile string // file: empty for standard output
	timeZone           string
	follows            bool
	zone               *time.Location
}

// The formats of reports besides kubectl's own.
const (
	formatHTML     = "html"
	formatMarkdown = "markdown"
)

func newReport(p *program) *cobra.Command {
	r := &reporting{program: p}
	cmd := &cobra.Command{
		Use:   "report [NAME]",
		Short: "Write a report of an upgrade: a page, or text for a ticket",
		Long: `Reports how the upgrade NAME went, or how far it is: each node's steps, who waited
and why, the windows and exclusions, durations against what was expected, the findings
of the preflight checks and why they were ignored, versions, digests, and who requested
the upgrade.

  -o html      one file that needs no network: a timeline of every node
  -o markdown  short, for a change ticket (the default)
  -o json      everything, in a shape that scripts may rely on

With --output-file the report is written to a file (- is standard output), by default
in the format that its name ends with: .html, .md, .json or .yaml. With --follow that file is rewritten until the
upgrade has ended; the exit codes are those of ` + "`kubectl upgrade status --watch`" + `.

Without NAME it is about the active upgrade or, if there is none, the one that ended
last. The report reads UpgradeRecords, so the ClusterUpgrade may be deleted. The windows are those of the schedules that exist
now. With --snapshot it reads a file that ` + "`kubectl upgrade plan\n--save-snapshot FILE`" + ` wrote, and no cluster.`,
		Example: `  kubectl upgrade report
  kubectl upgrade report v1.35.4 --output-file upgrade.html --time-zone UTC
  kubectl upgrade report v1.35.4 --output-file upgrade.html --follow
  kubectl upgrade report v1.35.4 -o html > upgrade.html
  kubectl upgrade report v1.35.4 -o jsonpath='{.nodes[?(@.attempts>1)].name}'`,
		Args:              pastResource.optional,
		ValidArgsFunction: p.complete(reportable),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.pastName = pastNameIn(args)
			return inOrder(cmd, r)
		},
	}
	r.formats = []string{formatHTML, formatMarkdown, "json", "yaml"}
	r.output.addTo(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) error { return r.checkTemplate() }
	flags := cmd.Flags()
	flags.Lookup("output").Usage = "Output format: html, markdown, json, yaml, jsonpath=…, custom-columns=…, go-template=… and kubectl's others."
	flags.StringVar(&r.file, "output-file", "", "Write the report to this file, or standard output (-).")
	flags.BoolVar(&r.follows, "follow", false, "With --output-file: rewrite the file until the upgrade has ended.")
	flags.StringVar(&r.snapshotFile, "snapshot", "", "Read the state of the cluster from this file instead of the API server.")
	flags.StringVar(&r.timeZone, "time-zone", "", "Time zone in which times are shown; JSON is always in UTC. Default: this machine's.")
	r.timeout.addTo(cmd, "0", "With --follow: how long to follow, such as 30m or 1d.")
	return cmd
}

// validate refuses flags that cannot be combined. Without -o, the name of the file says the format.
func (r *reporting) validate() (err error) {
	if r.format() == "" {
		if *r.flags.OutputFormat, err = formatOf(r.file); err != nil {
			return err
		}
	}
	switch {
	case r.follows && r.file == "":
		return errors.New("--follow rewrites a file: add --output-file FILE")
	case r.follows && !r.isRewritable(r.file):
		return fmt.Errorf("--follow rewrites a file, and %s is none that can be rewritten: leave out --follow, or name another file", r.file)
	case r.follows && r.snapshotFile != "":
		return errors.New("--snapshot does not change: leave out --follow, or --snapshot")
	case isSameFile(r.snapshotFile, r.file):
		return fmt.Errorf("--output-file=%s: it is the snapshot that --snapshot reads; name another file", r.file)
	case r.timeout.limit > 0 && !r.follows:
		return errors.New("--timeout limits --follow: add --follow")
	case r.format() == "wide" || r.format() == "name":
		return fmt.Errorf("-o %s: a report has no such format; use html, markdown, json, yaml, jsonpath=…, custom-columns=… or go-template=…", r.format())
	case r.drawnByUs():
		return nil
	}
	if err := r.output.check(); err != nil {
		if near := request.Nearest(r.format(), []string{formatHTML, formatMarkdown}); near != "" {
			return fmt.Errorf("-o %s: there is no such format; did you mean %s?", r.format(), near)
		}
		return errors.New(strings.Replace(err.Error(), "use wide, json, yaml, name,", "use html, markdown, json, yaml,", 1))
	}
	return nil
}

func (r *reporting) complete(*cobra.Command) (err error) {
	r.zone, err = zone(r.timeZone)
	return err
}

func (r *reporting) run(ctx context.Context) error {
	if r.snapshotFile != "" {
		shot, err := loadSnapshot(r.snapshotFile)
		if err != nil {
			return err
		}
		if err := r.choose(shot.Snapshot, shot.TakenAt); err != nil {
			return err
		}
		return r.write(shot.Snapshot, shot.TakenAt)
	}
	reader, err := r.reader()
	if err != nil {
		return err
	}
	s, err := reader.read(ctx)
	if err != nil {
		return err
	}
	if s.Records, err = reader.records(ctx); err != nil {
		return err
	}
	if err := r.choose(s, r.now()); err != nil {
		return err
	}
	if err := r.write(s, r.now()); err != nil || !r.follows {
		return err
	}
	return r.follow(ctx, reader, s)
}

// reportable returns the upgrades that there are reports of.
func reportable(ctx context.Context, reader *reader) (names []string, err error) {
	upgrades, err := reader.kinds.ClusterUpgrades.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	records, err := reader.records(ctx)
	return namesOf(clusterstate.Snapshot{Upgrades: upgrades.Items, Records: records}), err
}

// namesOf returns the names of the upgrades, and of those that left only records.
func namesOf(s clusterstate.Snapshot) (names []string) {
	for _, u := range s.Upgrades {
		names = append(names, u.Name)
	}
	for _, one := range s.Records {
		names = append(names, one.Spec.Upgrade.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// choose sets the name where the arguments have none, or that of a record. Without one it is the
// active upgrade's or, if there is none, that of the one that ended last.
func (r *reporting) choose(s clusterstate.Snapshot, at time.Time) error {
	if err := r.resolve(s); err != nil || r.name != "" {
		return err
	}
	which := "is active"
	if queue := plan.Queue(s, at); len(queue) > 0 {
		r.name = queue[0].Name
	} else if ended := view.NewHistory(s.Upgrades, slices.Clone(s.Records)); len(ended) > 0 {
		r.name, which = ended[len(ended)-1].Name, "ended last"
	} else {
		return errors.New("there is no upgrade to report: `kubectl upgrade status` shows what there is")
	}
	fmt.Fprintf(r.ErrOut, "The report is about %s, which %s.\n", r.name, which)
	return nil
}

// write writes the report of what the snapshot says.
func (r *reporting) write(s clusterstate.Snapshot, at time.Time) error {
	made, err := report.New(s, r.name, at)
	if err != nil {
		return err
	}
	if made.ClusterName == "" && r.snapshotFile == "" {
		r.noteName(s.Policy)
		made.ClusterName = strings.Replace(r.clusterName, "https://", "", 1) // no link, in a title
	}
	text, err := r.draw(made)
	switch {
	case err != nil:
		return err
	case r.file != "":
		return r.writeFile(r.file, 0o644, text)
	}
	_, err = r.Out.Write(text)
	return err
}

// draw returns the report in the format that was chosen.
func (r *reporting) draw(made *report.Report) ([]byte, error) {
	switch r.format() {
	case formatHTML:
		return page.HTML(made, page.Options{Zone: r.zone, Version: r.version})
	case formatMarkdown:
		return []byte(markdown.Text(made, markdown.Options{Zone: r.zone, Version: r.version})), nil
	}
	var text bytes.Buffer
	p := *r.program
	p.Out = safe{out: &text}
	err := r.print(&p, made)
	return text.Bytes(), err
}

// formatOf returns the format that a file's name ends with. A name without an ending, such as
// /dev/stdout, says nothing.
func formatOf(file string) (string, error) {
	formats := map[string]string{"": formatMarkdown, ".md": formatMarkdown, ".markdown": formatMarkdown,
		".html": formatHTML, ".htm": formatHTML, ".json": "json", ".yaml": "yaml", ".yml": "yaml"}
	ending := strings.ToLower(filepath.Ext(file))
	format, known := formats[ending]
	if !known {
		return "", fmt.Errorf("--output-file=%s: there is no format for the ending %s; use .html, .md, .json or .yaml, or say the format with -o", file, ending)
	}
	return format, nil
}

// drawnByUs reports whether the format is none of kubectl's.
func (r *reporting) drawnByUs() bool { return r.format() == formatHTML || r.format() == formatMarkdown }

// rewriteEvery is how often a report is rewritten at most. A report that takes long to make
// is rewritten less often.
const rewriteEvery = 2 * time.Second

// reportFile is a Display that rewrites a report.
type reportFile struct {
	*reporting
	rewriteAfter time.Time // when the file may be rewritten
	problem      error     // why it could not be
}

// follow rewrites the report until the upgrade has ended. The last time it reads the
// records, which are written when an upgrade ends.
func (r *reporting) follow(ctx context.Context, reader *reader, first clusterstate.Snapshot) error {
	u := first.Upgrade(r.name)
	if u == nil || u.Status.Outcome != "" {
		return nil
	}
	fmt.Fprintf(r.ErrOut, "Rewriting %s until the upgrade has ended. Ctrl-C stops that, not the upgrade.\n", r.file)
	file := &reportFile{reporting: r}
	f := watch.Watcher{
		Clients: reader.clients(), Display: file, Now: r.now, Upgrade: r.name,
		Picture: func(view.Status) (string, bool, error) { return "", true, nil },
	}
	ended := f.Run(ctx, first)
	switch {
	case errors.Is(ended, context.DeadlineExceeded):
		return errors.New(watch.GoesOn(f.Followed()))
	case errors.Is(ended, context.Canceled) || file.problem != nil:
		return ended
	}
	last, err := reader.read(ctx)
	if err != nil {
		return errors.Join(ended, err)
	}
	if last.Records, err = reader.records(ctx); err != nil {
		return errors.Join(ended, err)
	}
	if last.Upgrade(r.name) == nil {
		return ended // it was deleted: the file keeps what was last known
	}
	return errors.Join(ended, r.write(last, r.now()))
}

// Show is part of Display.
func (f *reportFile) Show(frame watch.Frame) error {
	began := f.now()
	if began.Before(f.rewriteAfter) || frame.Cluster.Upgrade(f.name) == nil {
		return nil
	}
	f.problem = f.write(frame.Cluster, began)
	f.rewriteAfter = began.Add(max(rewriteEvery, 10*f.now().Sub(began)))
	return f.problem
}

// Close is part of Display.
func (f *reportFile) Close() {}
