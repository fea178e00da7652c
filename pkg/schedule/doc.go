// Package schedule reads MaintenanceSchedules: whether nodes may be taken out of service
// now, when they may next, and what in a schedule is probably a mistake.
//
// It promises:
//
//   - Windows of several schedules add up; an exclusion of any of them wins.
//   - A zone, a rule or a selector that is invalid closes every window of every
//     schedule. It never opens one.
//   - A verdict has its reason, in one sentence with the time zone, and its end.
//   - A Moment's At and Next agree at every instant. They find all that begins or
//     ends within the Horizon, and nothing beyond it.
//   - Every call returns soon: rules are validated before they are expanded, and
//     years before now are skipped.
//
// Recurrences follow the wall clock of the schedule's zone. A start in the hour that the
// clock skips in spring moves forward by that hour; of the hour that it repeats in
// autumn, the first counts. A window ends at the earlier of its written duration and its
// written end on the wall clock, an exclusion at the later. The first occurrence is
// exactly as written, if the rule includes it.
//
// rrule-go expands FREQ, INTERVAL, COUNT and the BY parts of a rule that was parsed
// and validated here into dates on the wall clock. This package itself implements UNTIL,
// BYSETPOS, time zones and the limit of a search.
//
// The package is pure: values in, values out; the clock is an argument.
package schedule
