// Package verb names the kinds of work that the agent runs on its node through
// systemd, with what the agent passes to them and what it reads of their results. It is
// all that both programs share: package hostverb makes the requests, and package
// hostwork, which the agent does not link, carries them out.
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
	Confirm  Verb = "confirm"
	Etcd     Verb = "etcd"

	Uninstall Verb = "uninstall"
)
