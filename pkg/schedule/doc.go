// Package schedule says from MaintenanceSchedules whether nodes may be taken out
// of service now, when they may next, and what in a schedule is surely not
// meant.
//
// It promises:
//
//   - Windows of several schedules add up; an exclusion of any of them wins.
//   - What cannot be understood (a zone, a rule, a selector) closes every
//     window of every schedule. Nothing that cannot be read ever opens one.
//   - A verdict says why, in one sentence with the time zone, and until when.
//   - A Moment's At and Next agree at every instant. They find whatever begins or
//     ends within the Horizon, and nothing beyond it.
//   - Every question is answered soon: rules are checked before they are
//     expanded, and years before the question are skipped.
//
// Recurrences follow the wall clock of the schedule's zone. A start that falls
// into the hour a spring night leaves out moves forward by as much; of an hour
// that an autumn night has twice, the first counts. A window ends at the
// earlier of its written duration and its written end on the wall clock, an
// exclusion at the later. The first occurrence, where the rule does not miss it,
// is as it is written.
//
// rrule-go turns FREQ, INTERVAL, COUNT and the BY parts of a rule that was parsed
// and checked here into dates on the wall clock, and is trusted with nothing else:
// UNTIL, BYSETPOS, time zones and how far a search goes are this package's own.
//
// The package is pure: values in, values out; the clock is an argument.
package schedule
