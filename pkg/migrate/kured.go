package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Kured is kured as it runs on a cluster.
type Kured struct {
	Container
	Placement
	// ScheduleName is the name of the MaintenanceSchedule.
	ScheduleName string
	// Whole puts a window over midnight on the day on which it begins, which is what people
	// usually mean. Otherwise the schedule is open exactly when kured's window is.
	Whole bool
	Now   time.Time
}

// kured is what FromKured makes from the flags.
type kured struct {
	Kured
	Result
	commandLine
}

// FromKured returns what kured's settings become.
func FromKured(in Kured) Result {
	k := &kured{Kured: in, Result: Result{Program: "kured"}, commandLine: in.kuredFlags()}
	k.Policy.Automatic = []v1alpha1.AutomaticUpgrade{{Type: v1alpha1.TypeReboot}}
	k.Rows = append(k.Rows, Row{
		Setting: "kured itself", Value: "reboots nodes that ask", Matters: true, Becomes: "automatic: [{type: Reboot}]",
		Note: "add {type: Patch} for patches of Kubernetes",
	})
	k.schedule()
	for _, flag := range kuredFlags {
		s := k.settings[flag.name]
		row := flag.row(s)
		switch {
		case s.unread != "" && flag.becomes == nil:
			row.Value, row.Set = "?", flag.meaning != NotNeeded
		case s.unread != "":
			row.Value, row.Note = "?", fmt.Sprintf("the value is %s, and was not read", s.unread)
			row.Meaning, row.Becomes = None, ""
		case s.problem != "":
			row.Meaning, row.Becomes, row.Note = None, "", s.problem+": kured does not start with it"
		case flag.becomes != nil:
			flag.becomes(k, &row, s)
		}
		k.Rows = append(k.Rows, row)
	}
	k.builtIn()
	k.placement(k.Placement)
	for _, problem := range k.problems {
		k.Rows = append(k.Rows, Row{Setting: "command line", Value: "?", Set: true, Meaning: None, Note: problem})
	}
	for i, row := range k.Rows {
		k.Rows[i].Meaning = cmp.Or(row.Meaning, Same)
	}
	return k.Result
}

// kuredFlags reads kured's flags. Since 1.17 a variable such as KURED_START_TIME prevails
// over the flag, and adds to a list; before, the flag prevailed.
func (c Container) kuredFlags() commandLine {
	specs := make([]flagSpec, len(kuredFlags))
	for i, flag := range kuredFlags {
		specs[i] = flag.flagSpec
	}
	line := c.parse(specs, false)
	for _, spec := range specs {
		name := "KURED_" + strings.ToUpper(strings.ReplaceAll(spec.name, "-", "_"))
		v, given := c.variable(name)
		switch before := line.settings[spec.name]; {
		case !given:
		case c.flagPrevails():
			if !before.set() {
				line.change(spec, name, v.Value, v.Unread)
			}
		case spec.kind == array:
			line.problems = append(line.problems, fmt.Sprintf("%s has no effect: kured reads no variable for this flag", name))
		default:
			line.change(spec, name, v.Value, v.Unread)
		}
	}
	return line
}

// flagPrevails reports whether the image is of kured 1.16 or older.
func (c Container) flagPrevails() bool {
	image, _, _ := strings.Cut(path.Base(c.Image), "@")
	_, tag, _ := strings.Cut(image, ":")
	v, err := version.Parse(strings.TrimPrefix(tag, "v"))
	return err == nil && v.Major == 1 && v.Minor < 17
}

// location returns the zone of kured's clock. Local is the container's, and that is UTC
// without the variable TZ.
func (k *kured) location() (*time.Location, error) {
	name := k.settings["time-zone"].value()
	if name == "Local" {
		tz, _ := k.variable("TZ")
		name = tz.Value
	}
	in, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is no time zone", name)
	}
	return in, nil
}

// schedule sets the window and the schedule. It sets neither if a flag cannot be read.
func (k *kured) schedule() {
	if k.unreadable {
		k.note("the window is not known, because the flags are not: there is no MaintenanceSchedule, so nothing would begin")
		return
	}
	w := KuredWindow{}
	var errs [4]error
	w.days, errs[0] = parseKuredDays(k.settings["reboot-days"].values)
	w.start, errs[1] = parseKuredTime(k.settings["start-time"].value())
	w.end, errs[2] = parseKuredTime(k.settings["end-time"].value())
	w.zone, errs[3] = k.location()
	for i, name := range []string{"reboot-days", "start-time", "end-time", "time-zone"} {
		s := k.settings[name]
		if errs[i] != nil && s.unread == "" {
			s.problem = errs[i].Error()
			k.settings[name] = s
		}
		if s.unread != "" || s.problem != "" {
			k.note("the window is not known, because the value of --%s is not: there is no MaintenanceSchedule, so nothing would begin", name)
			return
		}
	}
	k.Window = w
	if w.never() {
		k.note("kured's window never opens: it has no day, or begins when it ends. So there is no MaintenanceSchedule, and nothing would begin")
		return
	}
	k.Schedule = newSchedule(k.ScheduleName, w.zone, k.windows(w)...)
	k.surprises(w)
}

// windows returns the windows of the schedule.
func (k *kured) windows(w KuredWindow) []v1alpha1.MaintenanceWindow {
	window := func(name string, start, end clock) v1alpha1.MaintenanceWindow {
		return newWindow(name, w.days, start, end, w.zone, k.Now)
	}
	if !w.overMidnight() || w.daily() || k.Whole {
		return []v1alpha1.MaintenanceWindow{window("kured", w.start, w.end)}
	}
	windows := []v1alpha1.MaintenanceWindow{window("kured-evening", w.start, midnightAfter)}
	if w.end != (clock{}) {
		windows = append(windows, window("kured-morning", clock{}, w.end))
	}
	return windows
}

// surprises notes what people often do not expect of kured's window.
func (k *kured) surprises(w KuredWindow) {
	if w.overMidnight() && !w.daily() && w.end != (clock{}) {
		does := "The schedule does the same; --windows=whole puts each window on the day on which it begins."
		if k.Whole {
			does = "The schedule has each window on the day on which it begins."
		}
		k.note("kured takes the day from the clock, before and after midnight: on each day of --reboot-days it may reboot until %s and from %s on, and not in the morning after the last of these days. %s", w.end, w.start, does)
	}
	if length := w.length(); !w.always() && k.settings["period"].duration() > length {
		k.note("each of kured's pods looks at the clock once per --period=%s: a window of %s may pass unnoticed. Agents notice its start at once.", k.settings["period"].value(), length)
	}
	if !w.always() {
		k.note("kured looks at its window only before it takes its lock: a drain and its reboot may run on after the window. An agent aborts a drain when the window closes, and does not begin when too little time is left.")
	}
}

// length returns how long the window is on a day without a change of the clock.
func (w KuredWindow) length() time.Duration {
	seconds := w.end.seconds() - w.start.seconds()
	if seconds < 0 {
		seconds += 24 * 60 * 60
	}
	return time.Duration(seconds) * time.Second
}

func (k *kured) window(row *Row, _ setting) {
	row.Matters = true
	if k.Schedule == nil {
		row.Meaning, row.Note = None, "see below"
		return
	}
	row.Becomes = "a window of MaintenanceSchedule " + k.ScheduleName
	if w, known := k.Window.(KuredWindow); known && k.Whole && w.overMidnight() && !w.daily() {
		row.Meaning, row.Note = Nearest, "see below"
	}
}

func (k *kured) timeZone(row *Row, s setting) {
	row.Matters = true
	if k.Schedule == nil {
		row.Meaning, row.Note = None, "see below"
		return
	}
	row.Becomes = "timeZone: " + k.Schedule.Spec.TimeZone
	if s.value() == "Local" {
		row.Note = "Local is the zone of kured's container: its variable TZ, or else UTC"
	}
}

// sentinel compares the file with the one that agents read.
func (k *kured) sentinel(row *Row, s setting) {
	row.Matters = true
	file := path.Clean(s.value())
	for _, mounted := range slices.SortedFunc(maps.Keys(k.HostPaths), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		if rest, below := strings.CutPrefix(file, path.Clean(mounted)+"/"); below {
			file = path.Join(k.HostPaths[mounted], rest)
			break
		}
	}
	file = strings.Replace(file, "/var/run/", "/run/", 1)
	switch {
	case k.settings["reboot-sentinel-command"].value() != "":
		row.Meaning, row.Note = NotNeeded, "kured does not read it either, because of --reboot-sentinel-command"
	case file == "/run/reboot-required":
		row.Becomes, row.Note = "/run/reboot-required", "the path is fixed; update_engine's own state counts, too"
	default:
		row.Meaning, row.Becomes = Nearest, "/run/reboot-required"
		row.Note = fmt.Sprintf("the path is fixed: let what creates %s create this one", file)
	}
}

func (k *kured) concurrency(row *Row, s setting) {
	row.Matters = true
	n := max(s.number(), 1)
	limit := intstr.FromInt(n)
	k.Policy.Strategy.MaxUnavailable = &limit
	row.Becomes = fmt.Sprintf("strategy.maxUnavailable: %d", n)
	if n > 1 {
		row.Note = "control-plane nodes go one at a time all the same"
	}
}

// most is the API's limit for a time, a day.
const most = 24 * 60 * 60

// seconds returns a duration in whole seconds, rounded up, and a note if it is longer than the
// API allows.
func seconds(d time.Duration) (n int32, note string) {
	if d > most*time.Second {
		return most, "a day is the most"
	}
	return int32(math.Ceil(d.Seconds())), ""
}

func (k *kured) lockReleaseDelay(row *Row, s setting) {
	d := s.duration()
	if d <= 0 {
		row.Meaning, row.Matters = NotNeeded, true
		row.Note = "a node must stay Ready for strategy.settleSeconds, 120 by default, before it is uncordoned and the next one begins"
		return
	}
	n, note := seconds(d)
	k.Policy.Strategy.MinReadySeconds = &n
	row.Becomes, row.Note = fmt.Sprintf("strategy.minReadySeconds: %d", n), cmp.Or(note, "the node must be Ready all that time")
}

func (k *kured) drainTimeout(row *Row, s setting) {
	row.Matters = true
	d := s.duration()
	if d <= 0 {
		row.Meaning, row.Becomes = Nearest, "strategy.drain.timeoutSeconds: 900 (the default)"
		row.Note = "kured waits without limit, and every other node with it. An agent uncordons its node, lets others go and tries again"
		return
	}
	n, note := seconds(d)
	k.Policy.Strategy.Drain.TimeoutSeconds = &n
	row.Becomes, row.Note = fmt.Sprintf("strategy.drain.timeoutSeconds: %d", n), note
}

func (k *kured) drainGracePeriod(row *Row, s setting) {
	n := int32(min(max(s.number(), -1), math.MaxInt32))
	row.Becomes = fmt.Sprintf("strategy.drain.gracePeriodSeconds: %d", n)
	if n < 0 {
		row.Becomes += " (the default)"
		return
	}
	k.Policy.Strategy.Drain.GracePeriodSeconds = &n
}

func (k *kured) forceReboot(row *Row, s setting) {
	row.Matters = true
	switch {
	case !s.isTrue():
		row.Becomes = "strategy.drain.onTimeout: Abort (the default)"
	case len(k.settings["blocking-pod-selector"].values) > 0:
		row.Meaning, row.Note = None, "onTimeout: Delete would delete also the pods of --blocking-pod-selector, for which kured waits"
	default:
		k.Policy.Strategy.Drain.OnTimeout = v1alpha1.OnTimeoutDelete
		row.Meaning, row.Becomes = Nearest, "strategy.drain.onTimeout: Delete"
		row.Note = "a node with pods left does not reboot: those that could not be evicted are deleted"
	}
}

// builtIn adds the rows of what kured does without a flag.
func (k *kured) builtIn() {
	k.Policy.Strategy.Drain.UnmanagedPods = v1alpha1.PodsEvict
	k.Rows = append(k.Rows, Row{
		Setting: "kured's drain", Value: "evicts pods without a controller", Matters: true,
		Becomes: "strategy.drain.unmanagedPods: Evict", Note: "leave it out if such pods are to block the drain",
	})
}

// Placement is on which nodes a DaemonSet runs.
type Placement struct {
	NodeSelector map[string]string
	Affinity     bool
	// ControlPlane reports whether it tolerates the taint of control-plane nodes.
	ControlPlane bool
}

func (r *Result) placement(p Placement) {
	nodes := maps.Clone(p.NodeSelector)
	if nodes["kubernetes.io/os"] == "linux" { // no agent runs on others
		delete(nodes, "kubernetes.io/os")
	}
	if len(nodes) > 0 {
		selector := &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{}}
		for key, value := range nodes {
			selector.MatchLabels[key] = v1alpha1.LabelValue(value)
		}
		r.Policy.NodeSelector = selector
		r.Rows = append(r.Rows, Row{
			Setting: "nodeSelector of the pods", Value: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: nodes}), Set: true,
			Becomes: "nodeSelector of the UpgradePolicy",
		})
	}
	if p.Affinity {
		r.Rows = append(r.Rows, Row{Setting: "affinity of the pods", Set: true, Meaning: None, Note: "write the nodeSelector of the UpgradePolicy by hand"})
	}
	if !p.ControlPlane {
		r.Rows = append(r.Rows, Row{
			Setting: "tolerations of the pods", Value: "not of control-plane nodes", Set: true, Meaning: None,
			Note: "control-plane nodes are managed like the others; the label kubectl-upgrade.dev/hold on a Node keeps it out",
		})
	}
}
