// Package etcd takes snapshots and checks the health of the etcd that has a member on each
// control-plane node, as kubeadm's static pod or as a unit of the host.
//
// A file with the name of a snapshot is complete, synced, verified by the checksum that
// etcd appended, and readable by root only. The snapshots of the present upgrade are
// never removed for newer ones. On a node without a member, as with an etcd on other machines,
// taking a snapshot fails with ErrNoMember.
//
// The package runs on the node, as root, with the certificates that kubeadm made for
// health checks. docs/rollback.md explains how to restore a snapshot.
package etcd
