// Package report tells how one upgrade went, or how far it is: every node with its steps,
// what it waited for, and what was expected.
//
// It promises:
//
//   - Values in, values out: New reads a snapshot of the cluster and is pure.
//   - Report is the shape that `kubectl upgrade report -o json` prints. Times are in UTC,
//     to the second, and start is included and end is not.
//   - What is not recorded is not invented: Notes say what is missing, and a wait whose
//     cause was derived and not read from an object says so.
//
// Packages page and markdown draw a Report.
package report
