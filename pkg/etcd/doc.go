// Package etcd looks after the etcd that kubeadm runs as static pods, one
// member on each control-plane node: it takes a snapshot of it before an upgrade
// touches anything, and says how its members are.
//
// It promises:
//
//   - A file that is called a snapshot is one: whole, on the disk, verified by
//     the checksum that etcd appended, and readable by root alone. What is being
//     written bears another name.
//   - The snapshot of the upgrade that goes on is never removed for a newer one.
//   - Where there is no member of its own on the node, as with an external etcd,
//     it says so in words and does nothing.
//
// It works on the node, as root, with the certificates that kubeadm made for
// health checks. docs/restore.md walks through the way back.
package etcd
