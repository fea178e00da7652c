package schedule

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Exclusions should leave roomTime open within any roomWithin. GKE requires the same of
// its exclusions: https://cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions
const (
	roomTime   = 48 * time.Hour
	roomWithin = 32 * 24 * time.Hour
)

// lintAhead is how far ahead exclusions are checked.
const lintAhead = 366*24*time.Hour + roomWithin

// tooShort finds windows too short for a node. A window that another one continues counts
// as long as both together.
func (l *linter) tooShort(field string, p v1alpha1.Period, e entry) {
	written := newOccurrence(span{p.StartTime.Time, p.EndTime.Time}, e.zone, false)
	lasts := written.written.length()
	if p.Recurrence != "" {
		lasts = min(lasts, written.wallLasts)
	}
	if lasts <= 0 || lasts >= NodeTime || l.longEnough(e) {
		return
	}
	l.find(field+".endTime", "window %s lasts %s: too short for a single node, which may need %s", e.name, lasts, NodeTime)
}

// longEnough reports whether an opening that includes the entry is long enough.
func (l *linter) longEnough(e entry) bool {
	own := e.series.until(l.now.Add(lintAhead))
	return slices.ContainsFunc(within(l.windows, l.now, l.now.Add(lintAhead)), func(whole span) bool {
		return whole.length() >= NodeTime && slices.ContainsFunc(own, whole.meets)
	})
}

// alwaysExcluded finds windows that are never open because exclusions cover them.
func (l *linter) alwaysExcluded(field string, e entry) {
	seen := search([]entry{e}, l.patchExclusions(), l.now, func(o timeline) bool { return len(o.effective) > 0 })
	if len(seen.windows) > 0 && len(seen.effective) == 0 {
		l.find(field, "window %s is never open: exclusions cover all of it", e.name)
	}
}

// patchExclusions returns the exclusions that hold back patches, and so security fixes.
// An exclusion that holds back only minor versions may last forever.
func (l *linter) patchExclusions() []entry {
	_, exclusions := entries([]compiled{l.compiled}, v1alpha1.TypePatch)
	return exclusions
}

// openTime finds a time in which exclusions leave too little of the windows open, or of all
// time if the schedule is a freeze.
func (l *linter) openTime() {
	exclusions := l.patchExclusions()
	if len(exclusions) == 0 {
		return
	}
	seen := newTimeline(l.windows, exclusions, l.now, l.now.Add(lintAhead))
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
		l.find("maintenanceExclusions", "exclusions leave %s open of the 32 days from %s; leave at least 48h, so that security fixes can be installed", left, x.start.In(l.zone).Format("2006-01-02"))
		return
	}
}

// overlap returns how much of in the spans, which are a union, cover.
func overlap(spans []span, in span) time.Duration {
	var sum time.Duration
	for _, s := range spans {
		if s.meets(in) {
			sum += span{later(s.start, in.start), earlier(s.end, in.end)}.length()
		}
	}
	return sum
}
