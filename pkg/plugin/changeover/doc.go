// Package changeover pauses another program that reboots nodes and starts kubectl-upgrade in
// its place, and goes back.
//
// It promises:
//
//   - At no moment may both reboot nodes. The other program is paused only while no node is in
//     its hands, and before the UpgradePolicy's mode becomes Manage. On the way back it is
//     resumed only after every node has been given back.
//   - Each step can be repeated: after an interruption the same command continues.
//   - Going back restores what was there before. What another client has changed since stays.
package changeover
