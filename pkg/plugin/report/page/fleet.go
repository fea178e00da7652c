package page

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
)

//go:embed fleet.html
var fleetHTML string

//go:embed fleet.css
var fleetCSS string

var fleetPage = template.Must(template.New("fleet").Funcs(template.FuncMap{
	"clean": func(text string) string { return render.Sanitize(text, false) },
}).Parse(fleetHTML))

// fleetDocument is the page about several clusters as strings.
type fleetDocument struct {
	CSS              template.CSS
	Policy           string
	Version          string
	Generated, Since string
	Zone             string
	Answered         int
	Count            string
	Ticks            []tick
	Lanes            []fleetLane
	Runs             []fleetRun
	Upgrades         []fleetUpgrade
	Silent           []fleetSilent
}

type fleetLane struct {
	Name, Stage, Summary string
	Bars                 []fleetBar
}

type fleetBar struct {
	X, Width, Title string
	Failed          bool
	Label           *fleetLabel
}

type fleetLabel struct{ X, Text string }

type fleetRun struct {
	Name, Stage, Version, From, To, By, Problem string
	Digests                                     []string
}

type fleetUpgrade struct {
	Name, Upgrade, From, To, Began, Ended, Outcome, Class, Why, By string
}

type fleetSilent struct{ Name, Why string }

// FleetHTML returns the page about what several clusters ran.
func FleetHTML(r fleet.Report, o Options) ([]byte, error) {
	clock := func(t *time.Time) string {
		if t == nil {
			return "–"
		}
		return t.In(o.Zone).Format("2006-01-02 15:04 MST")
	}
	d := fleetDocument{Version: o.Version, Generated: clock(&r.GeneratedTime), Zone: o.Zone.String()}
	d.CSS, d.Policy = styleSheet(pageCSS, fleetCSS)
	if d.Zone == "Local" {
		d.Zone = r.GeneratedTime.In(o.Zone).Format("MST -07:00")
	}
	if r.Since != nil {
		d.Since = clock(r.Since)
	}
	a := fleetAxis{start: earliest(r), end: r.GeneratedTime}
	d.Ticks = a.ticks(o.Zone)
	count := 0
	for _, row := range r.Items {
		if row.Repeated {
			continue
		}
		if count++; row.Reason != "" {
			d.Silent = append(d.Silent, fleetSilent{row.Context, strings.TrimSuffix(string(row.Reason)+": "+row.Message, ": ")})
			continue
		}
		d.Answered++
		d.Lanes = append(d.Lanes, a.lane(row, clock))
		for _, run := range row.Runs {
			one := fleetRun{Name: row.Context, Stage: row.Stage, Version: run.Version,
				From: clock(run.From), To: clock(run.To), By: cmp.Or(run.RequestedBy, "–"), Problem: cmp.Or(run.Problem, run.Blocked)}
			if run.To == nil {
				one.To = "now"
			}
			if run.ApprovedBy != "" {
				one.By += ", approved by " + run.ApprovedBy
			}
			for _, digest := range run.Digests {
				one.Digests = append(one.Digests, fmt.Sprintf("%s %s", digest.Architecture, digest.Digest))
			}
			d.Runs = append(d.Runs, one)
		}
		for _, e := range row.Upgrades {
			one := fleetUpgrade{Name: row.Context, Upgrade: e.Name, From: cmp.Or(e.From, "–"), To: cmp.Or(e.To, string(e.Type)),
				Began: clock(e.TriggerTime), Ended: clock(e.EndTime), Outcome: string(e.Outcome), Class: "bad", By: cmp.Or(e.RequestedBy, "–")}
			if e.Outcome == v1alpha1.OutcomeSucceeded {
				one.Class = "good"
			} else {
				one.Why = e.Message
			}
			d.Upgrades = append(d.Upgrades, one)
		}
	}
	d.Count = fleet.Count(count)
	var b bytes.Buffer
	err := fleetPage.Execute(&b, d)
	return b.Bytes(), err
}

// earliest returns when the page begins: since, or the first time that is known.
func earliest(r fleet.Report) time.Time {
	if r.Since != nil {
		return *r.Since
	}
	first := r.GeneratedTime.Add(-24 * time.Hour)
	for _, row := range r.Items {
		for _, run := range row.Runs {
			for _, at := range []*time.Time{run.From, run.To} {
				if at != nil && at.Before(first) {
					first = *at
				}
			}
		}
	}
	return first.Add(-r.GeneratedTime.Sub(first) / 20) // what ran before has some room
}

// fleetAxis places instants from start to end.
type fleetAxis struct{ start, end time.Time }

func (a fleetAxis) at(t time.Time) float64 {
	x := float64(t.Sub(a.start)) / float64(max(a.end.Sub(a.start), time.Second))
	return max(0, min(1, x))
}

// fleetTicks is how many dates the axis has.
const fleetTicks = 6

func (a fleetAxis) ticks(in *time.Location) (list []tick) {
	for i := range fleetTicks + 1 {
		x := float64(i) / fleetTicks
		at := a.start.Add(time.Duration(x * float64(a.end.Sub(a.start))))
		list = append(list, tick{X: percent(x), Label: at.In(in).Format("2 Jan 2006"), AtEnd: i == fleetTicks})
	}
	return list
}

// labelRoom is how wide a bar is at least that has its version in it.
const labelRoom = 0.06

// lane returns the bars of a cluster.
func (a fleetAxis) lane(row fleet.ReportRow, clock func(*time.Time) string) fleetLane {
	lane := fleetLane{Name: row.Context, Stage: row.Stage}
	var words []string
	for _, run := range row.Runs {
		from, to := a.start, a.end
		if run.From != nil {
			from = *run.From
		}
		if run.To != nil {
			to = *run.To
		}
		title := fmt.Sprintf("%s from %s to %s", run.Version, clock(run.From), clock(run.To))
		if run.To == nil {
			title = fmt.Sprintf("%s from %s", run.Version, clock(run.From))
		}
		words = append(words, title)
		if run.From == nil && run.To == nil && run.Upgrade != "" || !to.After(from) {
			continue // it is being brought, and no node has to run it yet
		}
		x, width := a.at(from), a.at(to)-a.at(from)
		bar := fleetBar{X: percent(x), Width: percent(width), Title: title, Failed: run.Problem != "" || run.Blocked != ""}
		if width >= labelRoom {
			bar.Label = &fleetLabel{X: percent(x), Text: run.Version}
		}
		lane.Bars = append(lane.Bars, bar)
	}
	lane.Summary = row.Context + ": " + strings.Join(words, "; ")
	return lane
}
