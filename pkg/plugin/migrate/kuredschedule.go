package migrate

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

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
