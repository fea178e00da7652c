package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
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
		Report: r, Title: r.Of(title(r.Upgrade)), Subtitle: subtitle(r), Badge: badgeOf(r.Upgrade),
		Names: namesClass(r.Nodes), Zone: l.name(), ZoneShort: r.GeneratedTime.In(o.Zone).Format("MST"), Version: o.Version, Generated: l.full(r.GeneratedTime), Large: !l.detailed,
		TickSets: l.tickSets(l.clock), Gaps: l.gaps(), Zooms: zooms, Kinds: kinds, Calendars: l.calendars(),
		Findings: findingRows(r), Windows: l.windowRows(), Expected: expected(r.Usual),
	}
	d.CSS, d.Policy = styleSheet(pageCSS)
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

// section is nodes of one group that are drawn together.
type section struct {
	Title    string
	Names    string // of the first and the last
	Range    string // the same, without how both begin
	Calendar int
	Areas    []area
	Lanes    []lane
	Rows     []nodeRow
}

// sections divides the nodes of a large cluster by their groups, in upgrade order.
func (l lanes) sections() (list []section) {
	nodes := l.report.Nodes
	for len(nodes) > 0 {
		size := 1
		for size < len(nodes) && size < sectionSize && nodes[size].Group == nodes[0].Group && nodes[size].Calendar == nodes[0].Calendar {
			size++
		}
		some := nodes[:size]
		s := section{Title: some[0].GroupName(), Calendar: some[0].Calendar, Areas: l.areas(some)}
		s.Names, s.Range = between(some[0].Name, some[size-1].Name)
		s.Title = fmt.Sprintf("%s, %d", s.Title, size)
		for i := range some {
			one := l.lane(&some[i])
			one.Calendar = -1 // it is drawn once behind all lanes
			s.Lanes, s.Rows = append(s.Lanes, one), append(s.Rows, l.nodeRow(&some[i]))
		}
		list, nodes = append(list, s), nodes[size:]
	}
	return list
}

// between names the nodes from one to another, in full and in short.
func between(first, last string) (full, short string) {
	if first == last {
		return first, first
	}
	full = first + " – " + last
	same := 0
	for same < min(len(first), len(last)) && first[same] == last[same] && !isDigit(first[same]) {
		same++
	}
	if len(full) <= longRange || same < 4 {
		return full, full
	}
	return full, "…" + first[same:] + " – …" + last[same:]
}

// longRange is up to how many letters two names are shown in full.
const longRange = 34

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// notable returns the nodes of a large cluster that people look for: first those that failed,
// those that are being upgraded, and control planes.
func (l lanes) notable() (nodes []*report.Node) {
	chosen := map[*report.Node]bool{}
	for _, isNotable := range []func(*report.Node) bool{
		func(n *report.Node) bool { return n.State == report.Failed },
		func(n *report.Node) bool { return n.State == report.Active },
		func(n *report.Node) bool { return n.ControlPlane },
		func(n *report.Node) bool { return n.Attempts > 1 },
	} {
		for i := range l.report.Nodes {
			if n := &l.report.Nodes[i]; !chosen[n] && isNotable(n) {
				chosen[n], nodes = true, append(nodes, n)
			}
		}
	}
	return nodes
}

// findingRow is a finding, and who ignored it.
type findingRow struct {
	Level, ID, Object, Node, Message, Advice, Ignored string
}

func findingRows(r *report.Report) (rows []findingRow) {
	why := map[string]string{}
	for _, check := range r.IgnoreChecks {
		why[check.ID] = cmp.Or(check.Comment, "no reason was given")
		if check.By != "" {
			why[check.ID] += ", by " + check.By
		}
	}
	for _, f := range r.Findings {
		row := findingRow{Level: string(f.Level), ID: f.ID, Node: f.Node, Message: f.Message, Advice: f.Advice}
		if f.Object.Name != "" {
			row.Object = f.Object.String()
		}
		if f.Ignored {
			row.Ignored = cmp.Or(why[f.ID], "no reason was given")
		}
		rows = append(rows, row)
	}
	return rows
}

// Options are how a report is drawn.
type Options struct {
	// Zone is the zone in which times are shown.
	Zone *time.Location
	// Version is that of the program that writes the page.
	Version string
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// page is parsed once. Control characters and those that change the direction of text are
// shown as escapes, as everywhere in kubectl-upgrade.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"clean": func(text string) string { return render.Sanitize(text, false) },
}).Parse(pageHTML))

// HTML returns the page.
func HTML(r *report.Report, o Options) ([]byte, error) {
	var b bytes.Buffer
	err := page.Execute(&b, newDocument(withLocalMessages(r, o.Zone), o))
	return b.Bytes(), err
}

// styleSheet returns the style sheet, and the policy that allows it and nothing else.
func styleSheet(sheets ...string) (css template.CSS, policy string) {
	text := strings.Join(sheets, "")
	sum := sha256.Sum256([]byte(text))
	return template.CSS(text), //nolint:gosec // files of this package
		"default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; base-uri 'none'; form-action 'none'"
}

// kind is what several steps look like: a color, with a word in the legend.
type kind struct {
	// Class is the name in the style sheet.
	Class string
	// Name is in the legend, and in what is shown for a bar.
	Name  string
	steps []v1alpha1.Step
}

var kinds = []kind{
	{"s", "stage the image", []v1alpha1.Step{v1alpha1.StepStaging}},
	{"k", "kubeadm", []v1alpha1.Step{v1alpha1.StepKubeadmAhead, v1alpha1.StepLocking, v1alpha1.StepSnapshotting, v1alpha1.StepKubeadm, v1alpha1.StepChecking}},
	{"d", "drain", []v1alpha1.Step{v1alpha1.StepCordoning, v1alpha1.StepDraining, v1alpha1.StepDetaching, v1alpha1.StepLastCheck}},
	{"r", "restart or reboot", []v1alpha1.Step{v1alpha1.StepActivating, v1alpha1.StepRebooting, v1alpha1.StepRestarting, v1alpha1.StepVerifying}},
	{"o", "settle", []v1alpha1.Step{v1alpha1.StepSettling, v1alpha1.StepUncordoning, v1alpha1.StepObserving, v1alpha1.StepUnlocking}},
	{"a", "aborted", []v1alpha1.Step{v1alpha1.StepAborting}},
	{"f", "failed", []v1alpha1.Step{v1alpha1.StepFailed, v1alpha1.StepRolledBack}},
}

// newer is the kind of steps of a newer agent.
var newer = kind{"k", "upgrade", nil}

var kindOf = func() map[v1alpha1.Step]*kind {
	of := map[v1alpha1.Step]*kind{}
	for i := range kinds {
		for _, step := range kinds[i].steps {
			of[step] = &kinds[i]
		}
	}
	return of
}()

// drawn returns the kind of a step; nil for one in which nothing is done.
func drawn(step v1alpha1.Step) *kind {
	if k := kindOf[step]; k != nil {
		return k
	}
	if step.Info().Phase == v1alpha1.PhaseCommitted {
		return &newer
	}
	return nil
}
