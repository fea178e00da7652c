// Package migrate moves a cluster from another program that reboots or updates nodes to
// kubectl-upgrade, and back: from kured, FLUO (Flatcar Linux Update Operator), and Flatcar's
// timer of systemd-sysupdate.
//
// It promises of the settings:
//
//   - Every flag of the program has a row, also one that has no counterpart, with the reason.
//   - The windows of the other program are computed from that program's own rules, so that
//     both can be compared. By default the MaintenanceSchedule is open when they are.
//   - What cannot be read opens no window.
//
// And of the changeover:
//
//   - At no moment may both reboot nodes. The other program is paused only while it upgrades no
//     node, and before the UpgradePolicy's mode becomes Manage. On the way back it is resumed
//     only after every node has been given back.
//   - Each step can be repeated: after an interruption the same command continues.
//   - Going back restores what was there before. What another client has changed since stays.
//
// The settings are translated by pure functions: values in, values out; the clock is an
// argument. Only the files changeover*.go change objects of the cluster.
package migrate
