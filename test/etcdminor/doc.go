// Package etcdminor replaces the members of a real etcd by those of another minor, one after the other as
// kubeadm does, while clients write, watch and keep leases as API servers do. `make etcd-minor` builds
// the versions of etcd and runs it.
package etcdminor
