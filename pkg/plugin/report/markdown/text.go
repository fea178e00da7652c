package markdown

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
)

// Options are how a report is drawn.
type Options struct {
	// Zone is the zone in which times are shown.
	Zone *time.Location
	// Version is that of the program that writes the report.
	Version string
}

// maxNodes is up to how many nodes each has a row. Of more, those are shown that people look
// for, and at most as many.
const maxNodes = 40

// document collects lines.
type document struct {
	strings.Builder
	Options
	*report.Report
}

// Text returns the report.
func Text(r *report.Report, o Options) string {
	d := &document{Options: o, Report: r}
	d.summary()
	d.nodes()
	d.waits()
	d.findings()
	d.bytes()
	for _, note := range r.Notes {
		d.line("- %s", text(note))
	}
	d.line("\nAs of %s, by kubectl-upgrade %s. Times are in %s.", d.clock(&r.GeneratedTime), text(o.Version), text(d.zoneName()))
	return d.String()
}

func (d *document) line(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

// table writes the head of a table.
func (d *document) table(title string, columns ...string) {
	d.line("\n### %s\n", title)
	d.row(columns...)
	d.line("|%s", strings.Repeat(" --- |", len(columns)))
}

func (d *document) row(cells ...string) {
	for i := range cells {
		cells[i] = cmp.Or(cells[i], "–")
	}
	d.line("| %s |", strings.Join(cells, " | "))
}

// clock returns a time with its zone.
func (d *document) clock(t *time.Time) string {
	if t == nil {
		return "–"
	}
	return strings.ReplaceAll(t.In(d.Zone).Format("2006-01-02 15:04 MST"), "+", `\+`)
}

func (d *document) zoneName() string {
	name := d.Zone.String()
	if name == "Local" {
		name = d.GeneratedTime.In(d.Zone).Format("MST -07:00")
	}
	return name
}

// took returns a duration for people. Empty: it is zero.
func took(t time.Duration) string {
	if t <= 0 {
		return ""
	}
	return report.Length(t)
}

// title names the upgrade by its versions.
func title(u report.Upgrade) string {
	switch {
	case u.Type == v1alpha1.TypeCertificates:
		return "Renewal of certificates"
	case u.To == "":
		return "Reboot of nodes"
	case u.Type == v1alpha1.TypeRollback:
		return "Kubelets taken back to " + strings.TrimSuffix(u.To+" from "+u.From, " from ")
	case u.From == "" || u.From == u.To:
		return "Upgrade to Kubernetes " + u.To
	}
	return fmt.Sprintf("Upgrade of Kubernetes from %s to %s", u.From, u.To)
}

func (d *document) summary() {
	u := d.Upgrade
	d.line("## %s: %s\n", text(d.Of(title(u))), cmp.Or(string(u.Outcome), u.Standing()))
	if u.Message != "" {
		d.line("%s\n", d.said(u.Message))
	}
	d.row("Upgrade", code(u.Name))
	d.line("| --- | --- |")
	d.row("Type", text(string(u.Type)))
	if u.To != "" {
		d.row("Versions", code(u.From)+" → "+code(u.To))
	}
	d.row("Requested by", cmp.Or(code(u.RequestedBy), "–"))
	if u.Comment != "" {
		d.row("Reason", text(u.Comment))
	}
	if u.ChangedBy != "" {
		d.row("Changed last by", code(u.ChangedBy))
	}
	if u.ApprovedBy != "" {
		d.row("Approved last by", code(u.ApprovedBy))
	}
	if u.Triggered {
		d.row("Began", d.clock(u.StartTime))
	}
	switch {
	case u.Ended():
		d.row("Ended", d.clock(u.EndTime)+", took "+took(u.Took(d.GeneratedTime)))
	case u.PredictedEndTime != nil:
		d.row("Expected to end", d.clock(u.PredictedEndTime))
	}
	d.row("Nodes", fmt.Sprintf("%d of %d done", u.Counts.Done, u.Counts.Total))
	if u.RetryOf != nil {
		d.row("Retry of", code(u.RetryOf.Name))
	}
	if u.WindowPolicy == v1alpha1.WindowPolicyIgnore {
		d.row("Windows", "ignored; exclusions counted")
	}
}

// special are the letters that may mean something in the middle of a line.
const special = "\\`*_[]<>#|~&$"

// said returns a message of the cluster, with its times and durations as the report shows them.
func (d *document) said(message string) string {
	return text(render.Said(message, d.Zone, report.Length))
}

// text returns text for a line or a cell. An address is no link, and @ does not mention a person.
func text(s string) string {
	var b strings.Builder
	for _, r := range render.Sanitize(s, false) {
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
			continue
		case strings.ContainsRune(special, r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return apart.Replace(strings.TrimSpace(b.String()))
}

// apart puts a comment, which is not shown, into what GitHub turns into links.
var apart = strings.NewReplacer("@", "@<!-- -->", "://", ":<!-- -->//", "www.", "www<!-- -->.")

// code returns text in the letters of code. A bar would end a cell, and a backtick the code.
func code(s string) string {
	s = strings.NewReplacer("`", "'", "|", "¦", "\n", " ", "\t", " ").Replace(render.Sanitize(s, false))
	if s == "" {
		return "–"
	}
	return "`" + s + "`"
}
