package page

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/report"
)

// maxRows is up to how many nodes the page shows every node at once, and sectionSize how
// many nodes a section of a larger cluster has.
const (
	maxRows     = 60
	sectionSize = 250
	// maxNotable is how many nodes of a large cluster the table shows at once, and maxLanes
	// the timeline.
	maxNotable = 60
	maxLanes   = 12
)

// document is the page as strings.
type document struct {
	*report.Report
	CSS             template.CSS
	Policy          string
	Title, Subtitle string
	Badge           badge
	Facts           []fact
	Zone, ZoneShort string
	Version         string
	Names           string // how much room names need
	Generated       string
	Large           bool
	Done, Of, Share string

	TickSets  []tickSet
	Gaps      []gap
	Zooms     []int
	Kinds     []kind
	Now       string // where now is; empty: the upgrade has ended
	Calendars []calendar
	Lanes     []lane
	More      int // notable nodes that are not among the lanes
	All       []area
	Sections  []section

	Rows     []nodeRow
	Details  []nodeRow // with their steps
	Waits    []waitRow
	Reasons  []reasonRow
	Windows  []windowRow
	Findings []findingRow
	Expected string
	Snapshot string // when it was taken
}

// badge is the outcome.
type badge struct{ Class, Text string }

// fact is a line of the summary.
type fact struct{ Name, Value, Note string }

func newDocument(r *report.Report, o Options) document {
	l := lanes{axis: newAxis(r), report: r, detailed: len(r.Nodes) <= maxRows}
	l.clock = newClock(o.Zone, l.segments[0].start, l.segments[len(l.segments)-1].end, r.GeneratedTime)
	d := document{
		Report: r, Title: title(r.Upgrade), Subtitle: subtitle(r), Badge: badgeOf(r.Upgrade),
		Names: namesClass(r.Nodes), Zone: l.name(), ZoneShort: r.GeneratedTime.In(o.Zone).Format("MST"), Version: o.Version, Generated: l.full(r.GeneratedTime), Large: !l.detailed,
		TickSets: l.tickSets(l.clock), Gaps: l.gaps(), Zooms: zooms, Kinds: kinds, Calendars: l.calendars(),
		Findings: findingRows(r), Windows: l.windowRows(), Expected: expected(r.Usual),
	}
	d.CSS, d.Policy = styleSheet()
	d.Facts = l.facts()
	d.Of, d.Done = fmt.Sprint(r.Upgrade.Counts.Total), fmt.Sprint(r.Upgrade.Counts.Done)
	d.Share = percent(float64(r.Upgrade.Counts.Done) / float64(max(r.Upgrade.Counts.Total, 1)))
	if !r.Upgrade.Ended() {
		d.Now = percent(l.at(r.GeneratedTime))
	}
	if s := r.EtcdSnapshot; s != nil {
		d.Snapshot = l.full(s.CreationTime.Time)
	}
	if d.Large {
		d.addLarge(l)
		return d
	}
	d.Waits = l.waitRows()
	for i := range r.Nodes {
		n := &r.Nodes[i]
		d.Lanes, d.Rows = append(d.Lanes, l.lane(n)), append(d.Rows, l.nodeRow(n))
		d.addDetails(l, n)
	}
	return d
}

// addLarge adds the nodes of a large cluster: those that people look for, and all in
// sections.
func (d *document) addLarge(l lanes) {
	d.All, d.Reasons, d.Sections = l.areas(d.Report.Nodes), l.reasonRows(), l.sections()
	l.detailed = true
	notable := l.notable()
	d.More = max(len(notable)-maxLanes, 0)
	for i, n := range notable {
		if i == maxNotable {
			break
		}
		if i < maxLanes {
			d.Lanes = append(d.Lanes, l.lane(n))
		}
		d.Rows = append(d.Rows, l.nodeRow(n))
		d.addDetails(l, n)
	}
}

func (d *document) addDetails(l lanes, n *report.Node) {
	if len(n.Steps) > 0 {
		row := l.nodeRow(n)
		row.Steps = l.steps(n)
		d.Details = append(d.Details, row)
	}
}

// title names the upgrade by its versions, and by its name where that says more.
func title(u report.Upgrade) string {
	switch {
	case u.To == "":
		return "Reboot of nodes"
	case u.From == "" || u.From == u.To:
		return "Kubernetes " + u.To
	}
	return fmt.Sprintf("Kubernetes %s to %s", u.From, u.To)
}

func subtitle(r *report.Report) string {
	u := r.Upgrade
	text := strings.TrimSuffix(string(u.Reason)+": "+u.Message, ": ")
	if u.Ended() && u.Outcome == "Succeeded" || u.Reason == "Released" {
		text = u.Message
	}
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func badgeOf(u report.Upgrade) badge {
	switch {
	case u.Outcome == "Succeeded":
		return badge{"good", "Succeeded"}
	case u.Outcome == "Superseded":
		return badge{"neutral", "Superseded"}
	case u.Outcome == "RolledBack":
		return badge{"bad", "Rolled back"}
	case u.Outcome != "":
		return badge{"bad", string(u.Outcome)}
	case u.Suspended:
		return badge{"warn", "Suspended"}
	case u.Stalled:
		return badge{"bad", "Needs a person"}
	case !u.Triggered:
		return badge{"neutral", "Not begun"}
	}
	return badge{"busy", "In progress"}
}

// facts returns the summary.
func (l lanes) facts() (list []fact) {
	u := l.report.Upgrade
	add := func(name, value, note string) {
		if value != "" {
			list = append(list, fact{name, value, note})
		}
	}
	when := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return l.full(*t)
	}
	add("Requested by", u.RequestedBy, when(u.RequestedTime))
	first, out := l.work()
	if u.Triggered {
		note := ""
		if !first.IsZero() {
			note = "first node " + l.full(first)
		}
		add("Began", when(u.StartTime), note)
	}
	switch {
	case u.Ended():
		add("Ended", when(u.EndTime), "took "+length(u.Took(l.now)))
	case u.PredictedEndTime != nil:
		add("Expected to end", when(u.PredictedEndTime), "in "+length(u.PredictedEndTime.Sub(l.now)))
	default:
		add("Expected to end", "not predictable now", "")
	}
	if out > 0 {
		add("Time out of service", length(out), "summed over the nodes")
	}
	add("Type", strings.Trim(string(u.Type)+", "+strings.ToLower(string(u.Method)), ", "), atOnce(u.MaxUnavailable))
	add("ClusterUpgrade", u.Name, "UID "+u.UID)
	add("Retry of", u.RetryOf, "")
	if u.IgnoreWindows {
		add("Windows", "ignored", "exclusions counted")
	}
	return list
}

func atOnce(limit string) string {
	if limit == "" {
		return ""
	}
	return "at most " + limit + " unavailable at once"
}

// work returns when the first node began, and how long nodes were out of service in all.
func (l lanes) work() (first time.Time, out time.Duration) {
	for i := range l.report.Nodes {
		n := &l.report.Nodes[i]
		out += time.Duration(n.OutOfServiceSeconds) * time.Second
		if n.StartTime != nil && (first.IsZero() || n.StartTime.Before(first)) {
			first = *n.StartTime
		}
	}
	return first, out
}

func expected(u report.Usual) string {
	return fmt.Sprintf("Expected, without the settle time: kubeadm on a control plane %s, reboot of a control plane %s, of a worker %s, restart of the kubelet %s.",
		seconds(u.ComponentsSeconds), seconds(u.ControlPlaneSeconds), seconds(u.WorkerSeconds), seconds(u.RestartSeconds))
}

// findingRow is a finding, and who ignored it.
type findingRow struct {
	Level, ID, Object, Node, Message, Advice, Ignored string
}

func findingRows(r *report.Report) (rows []findingRow) {
	why := map[string]string{}
	for _, check := range r.IgnoreChecks {
		why[check.ID] = check.Reason
	}
	for _, f := range r.Findings {
		row := findingRow{Level: string(f.Level), ID: f.ID, Node: f.Node, Message: f.Message, Advice: f.Advice}
		if f.Object.Name != "" {
			row.Object = f.Object.String()
		}
		if f.Ignored {
			row.Ignored = "no reason was given"
			if why[f.ID] != "" {
				row.Ignored = why[f.ID]
			}
		}
		rows = append(rows, row)
	}
	return rows
}
