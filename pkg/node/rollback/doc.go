// Package rollback is the guard of a node: it observes the node after an activation, and
// returns it to the former version when package guard says so.
//
// It runs as a unit of the node's own systemd, which starts it again however it ends
// early, and needs no kubelet, no API server and no network.
//
// It promises:
//
//   - Each change of a rollback can be repeated: killed or cut off from power at any
//     moment, the next run ends where an undisturbed one would have.
//   - The record is written before anything is changed, and what cannot be written for
//     want of disk space is written to space that the activation reserved.
//   - Times come from a clock that counts since boot. A wall clock that is set changes
//     nothing.
//   - Two guards never act at once.
package rollback
