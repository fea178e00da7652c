// Package agent takes one node through its upgrades: it looks, asks package
// machine what comes next, does it, and looks again.
//
// It promises:
//
//   - It decides nothing that machine does not: all it knows stands in
//     NodeUpgrade.status or is seen anew, so it may die anywhere.
//   - The status is written before anything is done that depends on it.
//   - It reacts to watches: its NodeUpgrade, its Node, the slots' Leases, the
//     units on the host, and the node's pods while they matter. It asks again
//     by the clock only where the answer itself depends on time.
//   - The gate is read live, not from a cache, and what cannot be read keeps it
//     closed.
//   - Nodes and pods are written with the kubelet's identity, which the API
//     server holds to this node. All else is the ServiceAccount's.
//   - An API server that is away stops nothing that runs on the host, and ends
//     nothing here: on a single control plane its own node's upgrade takes it
//     away twice.
package agent
