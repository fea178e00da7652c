// Package snapshot reads a cluster into a clusterstate.Snapshot.
//
// It promises that a Reader takes snapshots from memory, which it keeps up to date by
// watches; that it does not report changes that no plan uses, such as a kubelet's
// heartbeat; and that Read, which lists, finds the same. ReadShown and Follow do so for people, who
// may not read everything. ReadPreflight lists the facts that only the checks use; none of
// them are cached.
package snapshot
