// Package apiserver runs a real etcd and kube-apiserver on loopback, in a folder of their own, and
// other programs beside them. There are no controllers, no scheduler and no nodes; RBAC, the Node
// authorizer and NodeRestriction are on. Package apitest gives such servers to tests, and `make play`
// to people.
package apiserver
