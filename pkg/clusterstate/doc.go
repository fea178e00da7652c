// Package clusterstate describes the cluster as it was read: nodes, slots, apiservers,
// etcd, images on offer, and our own objects.
//
// It promises plain values: no client, no clock, no decision. Package snapshot reads them
// from a cluster, package plan decides based on them, and `kubectl upgrade plan --snapshot`
// reads them from a file.
package clusterstate
