// Package view turns the cluster's objects into what people are shown: the status of the
// cluster, the progress and the forecast of an upgrade, and lists of upgrades, releases and
// freezes. Package render draws these values, and `-o json` prints them: their JSON is a shape
// that scripts may rely on, with times in UTC.
//
// It promises values in, values out, and it invents no reason: those of the objects
// are shown.
package view
