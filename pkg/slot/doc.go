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
//   - The marks and steps of nodes say which node is out of service. A Lease that says otherwise
//     is mended from them (plan.SlotPlan).
//   - A Lease is a slot by its name. A missing label is restored.
//
// The functions, who calls them, and when:
//
//	Ensure    coordinator  the number of Leases is to be the budget, with their labels
//	Reserve   coordinator  a node may begin
//	Withdraw  coordinator  a node may not begin after all: frees what is only reserved
//	Restore   coordinator  the Lease of a node that took it is gone, or does not name it
//	GiveBack  coordinator  the Lease names a node that has not taken it
//	Reap      coordinator  a Node is gone: frees its slots, once the API server confirms it
//	Abandon   coordinator  a person abandoned a node: frees its slots
//	Take      agent        its node begins: makes it the holder of the slot reserved for it
//	Held      agent        reads which slot its node holds
//	Free      agent        its node is back in service: frees its slot
//
// Ensure skips a Lease that another client changed meanwhile; the others retry after a
// conflict. They leave every other error to the caller. What a watch shows of a Lease saves them the
// first read: the update is refused if the Lease has changed since.
package slot
