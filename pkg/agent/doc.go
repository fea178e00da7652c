// Package agent takes one node through its upgrades. It observes the node, calls
// machine.Next, carries out the action, and repeats.
//
// It promises:
//
//   - Package machine makes all decisions. All state is in NodeUpgrade.status or can be
//     observed again, so the agent may crash at any point.
//   - The status is written before anything is done that depends on it.
//   - It reacts to watches: its NodeUpgrade, its Node, the slots' Leases, the
//     units on the host, and the node's pods during a drain. It polls only what depends
//     on time.
//   - The gate is read live, not from a cache. A gate that cannot be read is closed.
//   - Nodes and pods are written with the kubelet's identity, which the API server
//     restricts to this node. All else uses the ServiceAccount's.
//   - An unavailable API server ends neither a verb on the host nor the agent: the upgrade
//     of a single control plane makes it unavailable twice.
package agent
