// Package rules says why a node may not begin now: one function for each reason that the coordinator and
// the node's agent both judge, each with what it reads itself. It is pure.
package rules
