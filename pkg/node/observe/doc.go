// Package observe writes the events and log lines of a node's steps.
//
// It promises that a transition reads the same everywhere: as an event on the Node, as a
// log line, and in NodeUpgrade.status, with the same reason code. It decides nothing.
package observe
