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
