// Package slot manages slots: Leases that do not expire, named slot-0, slot-1 and so on. A
// node may be out of service only while it holds one.
//
// It promises:
//
//   - A slot has at most one holder, however many clients write at the same time: each
//     change is one update with the resourceVersion that the decision was based on.
//   - A holder is a node's name and UID. A node that was deleted and joined again
//     is another node.
//   - A slot never expires. It becomes free when its holder frees it, when the holder's
//     Node no longer exists, or when a person abandons the node.
//   - Only the node that a slot is reserved for can take it.
//   - A Lease that was deleted is created again with its holder.
//   - A Lease is a slot by its name. A missing label is restored.
//
// The coordinator calls Ensure, Reserve, Withdraw, Reap, Restore and Abandon;
// the agent of a node calls Take and Free. All of them retry after a conflict, and
// leave every other error to the caller.
package slot
