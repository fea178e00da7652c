// Package hostverb is the table of the host verbs: each one stands in a file of
// its own, with everything that is asked of it. To add a verb is to name it in
// package verb, to write its file here, and to list it in Table.
//
// The node's side builds its commands from the table, the agent its requests.
// How a verb is run as a unit is package host.
package hostverb
