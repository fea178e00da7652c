// Package upgradesample makes clusters with an upgrade that took place over some days, for
// the tests and the pictures of reports. The nodes' steps are written here with times like
// those of real nodes; the record of the upgrade and the holds of nodes that wait are the
// planner's.
package upgradesample
