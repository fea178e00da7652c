// Package hostverb is the table of the host verbs. Each verb has a file with its
// properties. To add a verb, name it in package verb, write its file here, and list
// it in Table.
//
// The program on the node builds its commands from the table, and the agent its
// requests. Package host runs a verb as a unit.
package hostverb
