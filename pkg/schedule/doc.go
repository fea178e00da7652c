// Package schedule says whether nodes may be taken out of service now, from
// MaintenanceSchedules.
//
// It promises:
//
//   - Windows of several schedules add up; an exclusion of any of them wins.
//   - What cannot be understood (a zone, a rule, a selector) closes every
//     window of every schedule. Nothing that cannot be read ever opens one.
//   - A verdict says why, in one sentence with the time zone, and until when.
//   - Every search ends: rules are checked before they are expanded, and
//     nothing is looked for beyond the Horizon.
//
// Recurrences follow the wall clock of the schedule's zone. A start that falls
// into the hour a spring night leaves out moves forward by as much; of an hour
// that an autumn night has twice, the first counts. A window ends at the
// earlier of its written duration and its written end on the wall clock, an
// exclusion at the later.
//
// The package is pure: values in, values out; the clock is an argument.
package schedule
