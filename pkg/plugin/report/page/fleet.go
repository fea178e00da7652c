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
	Class, X, Width, Title string
	Failed                 bool
	Label                  *fleetLabel
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
			switch {
			case run.Attempt != nil:
				one.From, one.Problem = "not yet", run.Words(clock)
				if run.Attempt.IsOver() {
					one.From = "never"
				}
			case run.To == nil:
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
			switch e.Outcome {
			case v1alpha1.OutcomeSucceeded:
				one.Class = "good"
			case v1alpha1.OutcomeCanceled:
				one.Class, one.Why = "neutral", e.Message
			default:
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
	first := r.GeneratedTime.Add(-time.Hour)
	for _, row := range r.Items {
		for _, run := range row.Runs {
			known := []*time.Time{run.From, run.To}
			if run.Attempt != nil {
				known = append(known, run.Attempt.StartTime, run.Attempt.EndTime)
			}
			for _, at := range known {
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

// fleetTicks is how many dates the axis has, and withHours how short a page is whose ticks have hours.
const (
	fleetTicks = 6
	withHours  = 7 * 24 * time.Hour
)

func (a fleetAxis) ticks(in *time.Location) (list []tick) {
	day := ""
	for i := range fleetTicks + 1 {
		x := float64(i) / fleetTicks
		at := a.start.Add(time.Duration(x * float64(a.end.Sub(a.start))))
		label := at.In(in).Format("2 Jan 2006")
		if a.end.Sub(a.start) < withHours {
			label = at.In(in).Format("2 Jan 15:04")
			if today := at.In(in).Format("2 Jan"); today == day {
				label = at.In(in).Format("15:04")
			} else {
				day = today
			}
		}
		list = append(list, tick{X: percent(x), Label: label, AtEnd: i == fleetTicks})
	}
	return list
}

// labelRoom is how wide a bar is at least that has its version in it, and markWidth how wide an attempt is drawn at least.
const (
	labelRoom = 0.06
	markWidth = 0.004
)

// lane returns the bars of a cluster.
func (a fleetAxis) lane(row fleet.ReportRow, clock func(*time.Time) string) fleetLane {
	lane := fleetLane{Name: row.Context, Stage: row.Stage}
	var words []string
	for i := range row.Runs {
		run := &row.Runs[i]
		one, drawn := a.run(run, clock), true
		if run.Attempt != nil {
			one, drawn = a.attempt(run, clock)
		}
		words = append(words, one.Title)
		if drawn {
			lane.Bars = append(lane.Bars, one)
		}
	}
	lane.Summary = row.Context + ": " + strings.Join(words, "; ")
	return lane
}

// run returns the bar of a version that every node ran.
func (a fleetAxis) run(run *fleet.Run, clock func(*time.Time) string) fleetBar {
	from, to := a.start, a.end
	if run.From != nil {
		from = *run.From
	}
	title := fmt.Sprintf("%s from %s", run.Version, clock(run.From))
	if run.To != nil {
		to, title = *run.To, title+" to "+clock(run.To)
	}
	one := fleetBar{Class: "run", Title: title, Failed: run.Problem != "" || run.Blocked != ""}
	a.place(&one, from, to, 0, run.Version)
	return one
}

// attempt returns the mark of a version that not every node ran. An attempt of which no time is known is not drawn.
func (a fleetAxis) attempt(run *fleet.Run, clock func(*time.Time) string) (one fleetBar, drawn bool) {
	one = fleetBar{Class: "tried", Title: run.Version + " " + run.Words(clock), Failed: run.Attempt.IsOver() || run.Problem != ""}
	from, to := cmp.Or(run.Attempt.StartTime, run.Attempt.EndTime), run.Attempt.EndTime
	if from == nil {
		return one, false
	}
	if to == nil && run.Attempt.IsOver() {
		to = from
	}
	text := run.Version
	if one.Failed {
		text = "✗ " + text
	}
	a.place(&one, *from, *cmp.Or(to, &a.end), markWidth, text)
	return one, true
}

// place sets where a bar is, and its label if there is room.
func (a fleetAxis) place(one *fleetBar, from, to time.Time, atLeast float64, text string) {
	x := a.at(from)
	width := max(a.at(to)-x, atLeast)
	one.X, one.Width = percent(x), percent(width)
	if width >= labelRoom {
		one.Label = &fleetLabel{X: percent(x), Text: text}
	}
}
