// Package slot keeps the places in which nodes may be out of service: Leases
// that do not expire, named slot-0, slot-1 and so on.
//
// It promises:
//
//   - A slot has one holder at most, whoever calls at the same time: each change
//     is one update that carries the resourceVersion of what it was decided on.
//   - A holder is a node's name and UID. A node that was deleted and joined again
//     is another one.
//   - Time frees nothing. A slot becomes free when its holder frees it, when the
//     holder's Node is found to be gone by a live read, or by a person's word.
//   - Only the node that a slot is reserved for can take it.
//   - A Lease that was deleted comes back with its holder, from the mark on the
//     holder's Node.
//
// The coordinator calls Ensure, Reserve, Withdraw, Reap, Rebuild and Abandon;
// the agent of a node calls Take and Free. None of them retries longer than a
// conflict takes to settle: whoever calls tries again.
package slot
