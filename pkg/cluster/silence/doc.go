// Package silence has Alertmanagers silence a node's alerts while it is being upgraded.
//
// It promises that a silence lasts for a few minutes only, and is extended by the leader while the node
// is at work: whatever becomes of the coordinator, the silence ends by itself. All in all it ends when
// the node takes much longer than expected. It is ended at once when the node is done or has failed.
// No silence holds the alerts of kubectl-upgrade itself. A failure holds nothing.
package silence
