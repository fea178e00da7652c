package page

import (
	"fmt"
	"html/template"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
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
