// Package agent takes one node through its upgrades. It observes the node, calls
// machine.Next, carries out the action, and repeats.
//
// It promises:
//
//   - Package machine chooses every next step and action. The agent may only refuse one:
//     the gate is closed, the NodeUpgrade's spec does not match its ClusterUpgrade, or a
//     person has abandoned the node.
//   - All state is in NodeUpgrade.status or can be observed again, so the agent may crash
//     at any point.
//   - The status is written before anything is done that depends on it. Steps that only
//     pass, or that a crash would only repeat, are written with the one after them.
//   - It reacts to watches: its NodeUpgrade, its Node, its slot's Lease, the units on the host, and
//     the node's pods during a drain. Its own writes count until a watch shows them. It polls only
//     what depends on time. A worker watches no object of another node, unless it cannot know which
//     slot is its own.
//   - The gate is read live, not from a cache, before anything begins and before each round of
//     evictions. An open one counts for a second from the slot to the first eviction; ahead of a turn the
//     hold label counts as the watch shows it. A gate that cannot be read is closed.
//   - Nodes and pods are written with the kubelet's identity, which the API server
//     restricts to this node. All else uses the ServiceAccount's.
//   - An unavailable API server ends neither a verb on the host nor the agent: the upgrade
//     of a single control plane makes it unavailable twice.
//
// A reconcile observes the Node, the Leases, the NodeUpgrade and the host (observe.go, host.go,
// etcd.go), asks the gate why the node may not continue (gate.go, policy.go), persists machine's
// State as NodeUpgrade.status (status.go), and carries out one action (act.go, cordon.go, written.go).
package agent
