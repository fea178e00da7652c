// Package view turns the cluster's objects into the values that package render draws:
// the status of the cluster, the progress and the forecast of an upgrade, and lists of
// upgrades, releases and freezes.
//
// It promises values in, values out, and it invents no reason: those of the objects
// are shown.
package view
