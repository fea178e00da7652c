// Package slot keeps the slots: Leases that do not expire, named slot-0, slot-1 and
// so on. A node may be out of service while it holds one.
//
// It promises:
//
//   - A slot has one holder at most, however many programs call at the same time:
//     each change is one update that carries the resourceVersion of what it was
//     decided on.
//   - A holder is a node's name and UID. A node that was deleted and joined again
//     is another one.
//   - Time frees nothing. A slot becomes free when its holder frees it, when the
//     API server says that the holder's Node is gone, or when a person abandons
//     the node.
//   - Only the node that a slot is reserved for can take it.
//   - A Lease that was deleted comes back with its holder.
//   - A Lease is a slot by its name. One that has lost its label gets it back.
//
// The coordinator calls Ensure, Reserve, Withdraw, Reap, Restore and Abandon;
// the agent of a node calls Take and Free. All of them retry after a conflict, and
// leave every other error to the caller.
package slot
