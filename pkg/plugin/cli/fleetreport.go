package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report/markdown"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report/page"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// fleetReport is `kubectl upgrade fleet report` with its arguments.
type fleetReport struct {
	fleetCommand
	reporting reporting // its format, file and zone
	sinceText string

	at    time.Time
	since *time.Time // nil: everything
	all   []fleet.Cluster
}

func newFleetReport(p *program) *cobra.Command {
	r := &fleetReport{fleetCommand: fleetCommand{program: p}, reporting: reporting{program: p}}
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Write which cluster ran which version from when to when",
		Long: `Reports for each cluster which versions it ran, from when on every node and until when, who
asked for it, the digests of the images, problems, and the upgrades that have ended. It reads
the UpgradeRecords and the UpgradePolicy's status.ran.

  -o html      one page that needs no network, for the audit
  -o markdown  a table, for a ticket (the default)
  -o json      everything, in a shape that scripts may rely on

With --output-file the report is written to a file (- is standard output), by default in the
format that its name ends with: .html, .md, .json or .yaml. --since leaves out what ended before.`,
		Example: `  kubectl upgrade fleet report --contexts 'prod-*' -o html > versions.html
  kubectl upgrade fleet report --fleet fleet.yaml --since 90d \
    --output-file versions.html
  kubectl upgrade fleet report --contexts '*' --since 2026-01-01 -o json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return inOrder(cmd, r) },
	}
	r.reporting.formats = []string{formatHTML, formatMarkdown, "json", "yaml"}
	r.reporting.output.addTo(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) error { return r.reporting.checkTemplate() }
	flags := cmd.Flags()
	flags.Lookup("output").Usage = "Output format: html, markdown, json, yaml, jsonpath=…, custom-columns=…, go-template=… and kubectl's others."
	flags.StringVar(&r.sinceText, "since", "", "Leave out what ended before: a TIME, or how long ago, such as 90d.")
	flags.StringVar(&r.reporting.file, "output-file", "", "Write the report to this file, or standard output (-).")
	flags.StringVar(&r.reporting.timeZone, "time-zone", "", "Time zone in which times are read and shown; JSON is always in UTC. Default: this machine's.")
	r.fleetCommand.addTo(cmd, "20s")
	return cmd
}

func (r *fleetReport) validate() error { return r.reporting.validate() }

func (r *fleetReport) complete(cmd *cobra.Command) (err error) {
	if err := r.reporting.complete(cmd); err != nil {
		return err
	}
	r.at = r.now()
	if r.since, err = r.readSince(); err != nil {
		return err
	}
	r.all, err = r.choose(cmd)
	return err
}

func (r *fleetReport) run(ctx context.Context) error {
	defer quietPrograms()()
	rows := forEach(ctx, &r.fleetCommand, r.all, r.rowOf, func(c fleet.Cluster, trouble *view.Problem) fleet.ReportRow {
		return fleet.ReportRow{Cluster: c, Reason: trouble.Reason, Message: trouble.Message, Runs: []fleet.Run{}, Upgrades: []view.Ended{}}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := r.draw(fleet.NewReport(rows, r.since, r.at))
	if err != nil {
		return err
	}
	if r.reporting.file != "" {
		err = r.writeFile(r.reporting.file, 0o644, text)
	} else {
		_, err = r.Out.Write(text)
	}
	return errors.Join(err, outcomeOf(rows, func(row fleet.ReportRow) (named string, counts, silent bool) {
		return row.Context, !row.Repeated, row.Reason != ""
	}))
}

// readSince reads --since, which is a TIME or how long ago.
func (r *fleetReport) readSince() (*time.Time, error) {
	if r.sinceText == "" {
		return nil, nil
	}
	if ago, err := parseDuration("since", r.sinceText); err == nil {
		at := r.at.Add(-ago)
		return &at, nil
	}
	at, err := parseTime("since", r.sinceText, r.reporting.zone)
	if err != nil {
		return nil, fmt.Errorf("%w; or how long ago, such as 90d", err)
	}
	if at.After(r.at) {
		return nil, fmt.Errorf("--since=%q: is in the future", r.sinceText)
	}
	return &at, nil
}

// rowOf reads what a cluster ran.
func (r *fleetReport) rowOf(ctx context.Context, m member) (fleet.ReportRow, error) {
	s, err := snapshot.ReadShown(ctx, m.reader.clients(), r.now())
	if err := cmp.Or(err, requireNames(s)); err != nil {
		return fleet.ReportRow{}, err
	}
	if s.Records, err = m.reader.records(ctx); err != nil {
		return fleet.ReportRow{}, err
	}
	return fleet.NewReportRow(m.Cluster, s), nil
}

// draw returns the report in the format that was chosen.
func (r *fleetReport) draw(made fleet.Report) ([]byte, error) {
	switch r.reporting.format() {
	case formatHTML:
		return page.FleetHTML(made, page.Options{Zone: r.reporting.zone, Version: r.version})
	case formatMarkdown:
		return []byte(markdown.FleetText(made, markdown.Options{Zone: r.reporting.zone, Version: r.version})), nil
	}
	var text bytes.Buffer
	p := *r.program
	p.Out = safe{out: &text}
	err := r.reporting.print(&p, made)
	return text.Bytes(), err
}
