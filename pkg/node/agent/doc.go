// Package agent takes one node through its upgrades. It observes the node, calls
// machine.Next, carries out the action, and repeats.
//
// It promises:
//
//   - Package machine chooses every next step and action. The agent may only refuse one:
//     a rule holds the node, the NodeUpgrade's spec does not match its ClusterUpgrade, or a
//     person has abandoned the node.
//   - All state is in NodeUpgrade.status or can be observed again, so the agent may crash
//     at any point.
//   - The status is written before anything is done that depends on it. Steps that only
//     pass, or that a crash would only repeat, are written with the one after them.
//   - It reacts to watches: its NodeUpgrade, its Node, its slot's Lease, the units on the host, and
//     the node's pods during a drain. Its own writes count until a watch shows them. It polls only
//     what depends on time. A worker watches no object of another node, unless it cannot know which
//     slot is its own.
//   - What the rules ask is read live, not from a cache, before anything begins and before each round of
//     evictions. An open answer counts for a second from the slot to the first eviction; ahead of a turn the
//     hold label counts as the watch shows it. What cannot be read holds the node.
//   - Nodes and pods are written with the kubelet's identity, which the API server
//     restricts to this node. All else uses the ServiceAccount's.
//   - An unavailable API server ends neither a verb on the host nor the agent: the upgrade
//     of a single control plane makes it unavailable twice.
//
// In a round (round.go) seven senses look at the node, each with what it remembers: report.go (the node's order, and
// what was written of it), drain.go, slots.go, host.go, kubelet.go, etcd.go and whole.go. The table in rules.go says why the node
// may not go on. Then machine's State is written as NodeUpgrade.status (report.go, status.go), and one action is
// carried out (act.go).
package agent
