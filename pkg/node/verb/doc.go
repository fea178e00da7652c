// Package verb is the table of the host verbs: the kinds of work that the agent runs on its
// node through systemd, what it passes to each, and what it reads of the result. Package host
// runs a verb as a unit of the node; the program node-agent, which runs there, has the
// function of each verb.
//
// To add a verb: its name, arguments and entry in entries.go, its row in Table, and its function in the
// table of cmd/node-agent. It is pure.
package verb
