// Command play starts clusters in which only the nodes are pretended: `make play` (docs/play.md). It needs
// Go and no root.
//
// Real are etcd and kube-apiserver, which it compiles once, manifests/ as a user applies them, the
// coordinator as a process of its own with its ServiceAccount's token, and the code of the agents with the
// rights of real ones. Package nodes pretends the nodes, and source.go the source of images.
package main
