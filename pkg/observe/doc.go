// Package observe is what people and monitoring get to see of a node's way: one
// constructor for each event and log line.
//
// It promises that a transition reads the same everywhere: as an event on the
// Node, as a log line, and in NodeUpgrade.status, with the same reason code. It
// decides nothing.
package observe
