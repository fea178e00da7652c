// Package verb is the table of the host verbs: the kinds of work that the agent runs on its
// node through systemd, what it passes to each, and what it reads of the result. Package host
// runs a verb as a unit of the node; the program node-agent, which runs there, has the
// function of each verb.
//
// To add a verb: its name here, its row in Table, its arguments in args.go, its entry in entries.go,
// and its function in the table of cmd/node-agent. It is pure.
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
