// Package migrate says what the settings of another program that reboots or updates nodes
// become with kubectl-upgrade: kured, FLUO (Flatcar Linux Update Operator), and Flatcar's
// timer of systemd-sysupdate.
//
// It promises:
//
//   - Every flag of the program has a row, also one that has no counterpart, with the reason.
//   - The windows of the other program are computed from that program's own rules, so that
//     both can be compared. By default the MaintenanceSchedule is open when they are.
//   - What cannot be read opens no window.
//
// The package is pure: values in, values out; the clock is an argument.
package migrate
