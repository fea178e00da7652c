// Package whole compares what a node has with what it had before it went out of service.
//
// It promises:
//
//   - Only what was there before is missing: what is new, or was not ready before, holds nothing.
//   - What was removed meanwhile is not missing: a DaemonSet that is gone or no longer wants the node, a driver without a
//     CSIDriver, an extension without a file.
//   - What is written down is bounded, whatever the cluster has.
//
// It is pure: package agent reads the objects.
package whole
