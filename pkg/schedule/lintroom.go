package schedule

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Exclusions ought to leave this much in any such time, as GKE demands of its
// own: https://cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions
const (
	roomTime   = 48 * time.Hour
	roomWithin = 32 * 24 * time.Hour
)

// lintAhead is how far ahead exclusions are checked.
const lintAhead = 366*24*time.Hour + roomWithin

// length finds windows in which no node can be done. One that another window
// goes on from is as long as both.
func (l *linter) length(field string, p v1alpha1.Period, e entry) {
	written := newOccurrence(span{p.StartTime.Time, p.EndTime.Time}, e.zone, false)
	lasts := written.written.lasts()
	if p.Recurrence != "" {
		lasts = min(lasts, written.wallLasts)
	}
	if lasts <= 0 || lasts >= NodeTime || l.prolonged(e) {
		return
	}
	l.find(field+".endTime", "window %s lasts %s: too short for a single node, which may need %s", e.name, lasts, NodeTime)
}

// prolonged reports whether an opening that includes the entry is long enough.
func (l *linter) prolonged(e entry) bool {
	own := e.series.until(l.now.Add(lintAhead))
	return slices.ContainsFunc(within(l.windows, l.now, l.now.Add(lintAhead)), func(whole span) bool {
		return whole.lasts() >= NodeTime && slices.ContainsFunc(own, whole.meets)
	})
}

// covered finds windows that open again, but always under an exclusion.
func (l *linter) covered(field string, e entry) {
	seen := foresee([]entry{e}, l.concerning(), l.now, func(o outlook) bool { return len(o.effective) > 0 })
	if len(seen.windows) > 0 && len(seen.effective) == 0 {
		l.find(field, "window %s is never open: exclusions cover all of it", e.name)
	}
}

// concerning is the exclusions that hold security fixes back, which are
// patches. One that holds only minor versions back may last for ever.
func (l *linter) concerning() []entry {
	_, exclusions := entries([]compiled{l.compiled}, v1alpha1.TypePatch)
	return exclusions
}

// room finds a time in which exclusions leave too little of what windows give,
// or of all time where the schedule is a freeze.
func (l *linter) room() {
	exclusions := l.concerning()
	if len(exclusions) == 0 {
		return
	}
	seen := survey(l.windows, exclusions, l.now, l.now.Add(lintAhead))
	if len(l.windows) == 0 {
		seen.windows = []span{{seen.now, seen.edge}}
		seen.effective = subtract(seen.windows, seen.exclusions)
	}
	for _, x := range seen.exclusions {
		in := span{x.start, x.start.Add(roomWithin)}
		given, left := overlap(seen.windows, in), overlap(seen.effective, in)
		if in.end.After(seen.edge) || left >= roomTime || given < roomTime && left > 0 || given == 0 {
			continue
		}
		l.find("maintenanceExclusions", "exclusions leave %s open of the 32 days from %s; leave 48h at least", left, x.start.In(l.zone).Format("2006-01-02"))
		return
	}
}

// overlap is how long the spans, a union, cover in.
func overlap(spans []span, in span) time.Duration {
	var sum time.Duration
	for _, s := range spans {
		if s.meets(in) {
			sum += span{later(s.start, in.start), earlier(s.end, in.end)}.lasts()
		}
	}
	return sum
}
