// Package host lets the agent's pod work on its node without access to the node's
// files.
//
// The pod asks the node's systemd, over the system bus, to run
// `node-agent host VERB` as a transient unit with a fixed name. A verb therefore
// never runs twice at the same time, outlives the pod that started it, and leaves a
// [Result] for the next pod. A verb may be started again after the pod, the unit or
// the node was killed; it then ends as an uninterrupted run would have ended.
//
// The pod uses [Client]; the verbs on the node use [Run]. They communicate by two
// files for each verb in [StateDir]: the request and the result.
package host
