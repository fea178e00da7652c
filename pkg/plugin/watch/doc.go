// Package watch shows an upgrade until it has ended, from the cluster's objects alone:
// all who follow it, from anywhere, see the same.
//
// It promises to outlive the API server's absence: the only control plane of a cluster
// reboots in each of its upgrades. Package view turns objects into values and package
// render draws them; what is here watches, and writes to a terminal or a log.
package watch
