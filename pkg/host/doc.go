// Package host is how the agent's pod has work done on its node without
// touching one of the node's files.
//
// The promise: the pod asks the node's own systemd, over the system bus, to
// run `node-agent host VERB` as a transient unit with a fixed name. A verb can
// therefore not run twice at once, outlives the pod that started it, and
// leaves a [Result] that the next pod finds. A verb that is started again after
// the pod, the unit or the node was killed in its middle ends where an
// undisturbed run would have ended.
//
// The pod's side is [Client]; the node's side is [Run], which the host verbs
// call. Between them lie two files for each verb in [StateDir]: the request
// and the result.
package host
