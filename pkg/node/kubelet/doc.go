// Package kubelet finds out on the host whether the node's kubelet works, without the API
// server. The guard and the host verbs ask it.
package kubelet
