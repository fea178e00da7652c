// Package verb names the kinds of work that an agent has its node's systemd do.
// Package hostverb says of each what it is.
package verb

// Verb is one kind of work on the node.
type Verb string

// The verbs.
const (
	Facts    Verb = "facts"
	Disarm   Verb = "disarm"
	Stage    Verb = "stage"
	Pull     Verb = "pull"
	Snapshot Verb = "snapshot"
	Kubeadm  Verb = "kubeadm"
	Activate Verb = "activate"
	Restart  Verb = "restart"
	Etcd     Verb = "etcd"
)
