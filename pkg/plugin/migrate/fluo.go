package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// FLUO is FLUO as it runs on a cluster: its operator, and its agent on every node.
type FLUO struct {
	Operator, Agent Container
	Placement
	// Paused are the nodes that a person has annotated reboot-paused=true.
	Paused       []string
	ScheduleName string
	Now          time.Time
}

var fluoOperatorFlags = []flagSpec{
	{"reboot-window-start", text, ""}, {"reboot-window-length", text, ""},
	{"before-reboot-annotations", list, ""}, {"after-reboot-annotations", list, ""},
	{"kubeconfig", text, ""}, {"version", boolean, "false"}, {"v", number, "0"}, {"logtostderr", boolean, "true"},
}

var fluoAgentFlags = []flagSpec{
	{"node", text, ""}, {"grace-period", number, "600"}, {"force-drain", boolean, "false"},
	{"version", boolean, "false"}, {"v", number, "0"}, {"logtostderr", boolean, "true"},
}

// withVariables adds the variables, which count where the flag is not given.
func (c Container) withVariables(specs []flagSpec, prefix string) commandLine {
	line := c.parse(specs, true)
	for _, spec := range specs {
		name := prefix + strings.ToUpper(strings.ReplaceAll(spec.name, "-", "_"))
		if v, given := c.variable(name); given && !line.settings[spec.name].set() {
			line.change(line.flags.Lookup(spec.name), name, v.text())
		}
	}
	return line
}

// FromFLUO returns what FLUO's settings become.
func FromFLUO(in FLUO) Result {
	r := Result{Program: "FLUO"}
	r.Policy.Automatic = []v1alpha1.AutomaticUpgrade{{Type: v1alpha1.TypeReboot}}
	one := intstr.FromInt(1)
	r.Policy.Strategy.MaxUnavailable = &one
	r.Rows = []Row{
		{Setting: "FLUO itself", Value: "reboots nodes that have installed an update of Flatcar", Matters: true, Becomes: "automatic: [{type: Reboot}]", Note: "add {type: Patch} for patches of Kubernetes"},
		{Setting: "one node at a time", Matters: true, Becomes: "strategy.maxUnavailable: 1"},
	}
	operator := in.Operator.withVariables(fluoOperatorFlags, "UPDATE_OPERATOR_")
	agent := in.Agent.withVariables(fluoAgentFlags, "UPDATE_AGENT_")
	r.fluoWindow(in, operator)
	r.fluoAnnotations(operator)
	r.fluoDrain(agent)
	for _, node := range in.Paused {
		r.Rows = append(r.Rows, Row{Setting: "annotation reboot-paused", Value: node, Set: true, Becomes: "label kubectl-upgrade.dev/hold on the Node", Note: "kubectl label node " + node + " kubectl-upgrade.dev/hold="})
	}
	r.placement(in.Placement)
	for _, problem := range append(operator.problems, agent.problems...) {
		r.Rows = append(r.Rows, Row{Setting: "command line", Value: "?", Set: true, Meaning: None, Note: problem})
	}
	for i, row := range r.Rows {
		r.Rows[i].Meaning = cmp.Or(row.Meaning, Same)
	}
	r.note("FLUO goes on with the reboot if the drain fails or takes too long. With onTimeout: Delete the pods that are left are deleted first; leave it out, and the node is uncordoned and tried again")
	return r
}

func (s setting) row(name string) Row {
	if s.set() {
		name = s.from
	}
	return Row{Setting: name, Value: s.value(), Set: s.set()}
}

// fluoWindow sets the window and the schedule. Without both flags, FLUO may reboot at any time.
func (r *Result) fluoWindow(in FLUO, flags commandLine) {
	start, length := flags.settings["reboot-window-start"], flags.settings["reboot-window-length"]
	rows := []Row{start.row("--reboot-window-start"), length.row("--reboot-window-length")}
	defer func() { r.Rows = append(r.Rows, rows...) }()
	tz, _ := in.Operator.variable("TZ")
	zone, err := schedule.Zone(tz.Value)
	w := FLUOWindow{days: [7]bool{true, true, true, true, true, true, true}, length: 24 * time.Hour, zone: zone}
	switch given := start.value() != "" && length.value() != ""; {
	case err != nil:
		err = fmt.Errorf("the variable TZ of the operator, %q, is no time zone", tz.Value)
	case flags.unreadable || start.unread != "" || length.unread != "":
		err = fmt.Errorf("its flags were not read")
	case given:
		w, err = parseFLUOWindow(start.value(), length.value(), zone)
	}
	for i := range rows {
		rows[i].Matters = true
		rows[i].Becomes = "a window of MaintenanceSchedule " + in.ScheduleName
		if err != nil {
			rows[i].Meaning, rows[i].Becomes, rows[i].Note = None, "", "see below"
		}
	}
	if err == nil && (start.value() == "") != (length.value() == "") {
		for i := range rows {
			rows[i].Meaning, rows[i].Becomes, rows[i].Note = NotNeeded, "", "without the other one it has no effect: FLUO has no window"
		}
	}
	if err != nil {
		r.note("the window is not known, because %v: there is no MaintenanceSchedule, so nothing would begin", err)
		return
	}
	if tz.Value == "" && rows[0].Note == "" {
		rows[0].Note = "by the clock of the operator's container, which is UTC without the variable TZ"
	}
	if w.length == 0 {
		r.note("FLUO's window has no length, so it never opens. There is no MaintenanceSchedule, and nothing would begin")
		return
	}
	r.Window = w
	window := newWindow("fluo", w.days, w.start, midnightAfter, zone, in.Now)
	window.EndTime = metav1.NewTime(window.StartTime.Add(w.length))
	r.Schedule = newSchedule(in.ScheduleName, zone, window)
	r.note("FLUO looks at its window only before it chooses a node: a drain and its reboot may run on after the window. An agent aborts a drain when the window closes")
}

func (r *Result) fluoAnnotations(flags commandLine) {
	before, after := flags.settings["before-reboot-annotations"].row("--before-reboot-annotations"), flags.settings["after-reboot-annotations"].row("--after-reboot-annotations")
	before.Meaning, before.Note = Nearest, "what sets the annotations may label the Node kubectl-upgrade.dev/hold instead, and remove the label when the node may go; or use the group's approval"
	before.Becomes = "label kubectl-upgrade.dev/hold on the Node"
	after.Meaning, after.Note = Nearest, "no annotation is waited for: the node must stay Ready that long before it is uncordoned, and again before the next one begins"
	after.Becomes = "strategy.settleSeconds and minReadySeconds"
	r.Rows = append(r.Rows, before, after)
}

func (r *Result) fluoDrain(flags commandLine) {
	s := flags.settings["grace-period"]
	grace := s.row("--grace-period")
	grace.Matters, grace.Meaning = true, Nearest
	drain := &r.Policy.Strategy.Drain
	if n := s.number(); n > 0 && s.problem == "" && s.unread == "" {
		limit, note := seconds(time.Duration(min(n, most+1)) * time.Second)
		drain.TimeoutSeconds, drain.OnTimeout = &limit, v1alpha1.OnTimeoutDelete
		grace.Becomes = fmt.Sprintf("strategy.drain.timeoutSeconds: %d, onTimeout: Delete", limit)
		grace.Note = cmp.Or(note, "FLUO then reboots, whatever pods are left; an agent deletes them first")
	} else {
		grace.Meaning, grace.Note = None, "its value is not known, or not positive: the drain has the default limit of 900 seconds"
	}
	force := flags.settings["force-drain"].row("--force-drain")
	force.Matters = true
	force.Becomes = "strategy.drain.unmanagedPods: Block (the default)"
	if flags.settings["force-drain"].isTrue() {
		drain.UnmanagedPods = v1alpha1.PodsEvict
		force.Becomes = "strategy.drain.unmanagedPods: Evict"
	}
	node := flags.settings["node"].row("--node")
	node.Set, node.Meaning, node.Note = false, NotNeeded, "an agent knows its node"
	r.Rows = append(r.Rows, grace, force, node)
}

// FLUOWindow is FLUO's reboot window: it begins on a day of the week, or every day, at a time of
// the operator's own clock, and has a length in hours that pass.
type FLUOWindow struct {
	days   [7]bool // from Sunday
	start  clock
	length time.Duration
	zone   *time.Location
}

// Contains reports whether FLUO may choose a node at t.
func (w FLUOWindow) Contains(t time.Time) bool {
	spans := w.Openings(t, t.Add(time.Nanosecond))
	return len(spans) > 0 && !t.Before(spans[0].Start)
}

// Openings returns when FLUO may choose a node.
func (w FLUOWindow) Openings(from, until time.Time) []Span {
	year, month, day := from.In(w.zone).Date()
	var spans []Span
	for d := -8; ; d++ { // a window may be almost a week long
		start := time.Date(year, month, day+d, w.start.hour, w.start.minute, 0, 0, w.zone)
		if !start.Before(until) {
			break
		}
		if w.days[time.Date(year, month, day+d, 12, 0, 0, 0, w.zone).Weekday()] {
			spans = append(spans, Span{start, start.Add(w.length)})
		}
	}
	return join(spans, from, until)
}

// parseFLUOWindow reads --reboot-window-start and --reboot-window-length.
func parseFLUOWindow(start, length string, in *time.Location) (w FLUOWindow, err error) {
	w.zone = in
	fields := strings.Fields(start)
	weekly := len(fields) == 2
	if weekly {
		day := slices.IndexFunc(kuredDays[:], func(known []string) bool { return known[1] == strings.ToLower(fields[0]) })
		if day < 0 {
			return w, fmt.Errorf("%q is no day: FLUO accepts Sun, Mon … Sat", fields[0])
		}
		w.days[day] = true
		fields = fields[1:]
	} else {
		w.days = [7]bool{true, true, true, true, true, true, true}
	}
	if len(fields) == 0 {
		return w, fmt.Errorf("%q has no time of day", start)
	}
	hour, minute, _ := strings.Cut(fields[0], ":")
	var errs [2]error
	w.start.hour, errs[0] = strconv.Atoi(hour)
	w.start.minute, errs[1] = strconv.Atoi(minute)
	if errs[0] != nil || errs[1] != nil || w.start.hour < 0 || w.start.hour > 23 || w.start.minute < 0 || w.start.minute > 59 {
		return w, fmt.Errorf("%q is no time of day that FLUO accepts, such as 14:00", fields[0])
	}
	if w.length, err = time.ParseDuration(length); err != nil {
		return w, fmt.Errorf("%q is no duration, such as 1h30m", length)
	}
	if most := 7 * 24 * time.Hour; w.length < 0 || w.length >= most || !weekly && w.length >= 24*time.Hour {
		return w, fmt.Errorf("%s is longer than the time between two windows, or negative", length)
	}
	return w, nil
}
