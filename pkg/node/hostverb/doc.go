// Package hostverb is the table of the host verbs: what the agent knows of each, and how it
// requests them. Package host runs a verb as a unit, in which package hostwork carries it
// out. To add a verb, name it in package verb, write its file here, list it in Table, and
// add its function to hostwork.Table.
package hostverb
