package host

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"

// Facts are what the verb "facts" finds on a node. Versions are written
// v1.34.4; an empty one is not known or not there.
type Facts struct {
	BootID string `json:"bootID"`
	// Supported is false where Kubernetes does not come as a sysext image in
	// the bakery's layout; UnsupportedReason is a sentence that says why.
	Supported         bool   `json:"supported"`
	UnsupportedReason string `json:"unsupportedReason,omitempty"`
	// Installed are the versions with an image on the disk, oldest first.
	Installed []string `json:"installed,omitempty"`
	// Active is the version that the symlink points to: the next boot's.
	Active string `json:"active,omitempty"`
	// Merged is the version that /usr shows: this boot's.
	Merged string `json:"merged,omitempty"`
	// Kubeadm is the last `kubeadm upgrade` that completed under our care, since the
	// node joined. It is a record: StaticPods say what runs.
	Kubeadm KubeadmDone `json:"kubeadm,omitzero"`
	// ControlPlane is true where there is a static pod of kube-apiserver.
	ControlPlane bool `json:"controlPlane"`
	// StaticPods maps a control-plane component, such as kube-apiserver, to
	// the tag of the image in its manifest.
	StaticPods map[string]string `json:"staticPods,omitempty"`
	// Confs are the files in the node's own sysupdate definitions.
	Confs []string `json:"confs,omitempty"`
	// ConfProblem says why staging would refuse these; empty if it would not.
	ConfProblem string `json:"confProblem,omitempty"`
	// Armed is true where the node's own systemd-sysupdate could activate an
	// image, or has, or could delete one that is needed: see verb disarm.
	Armed bool `json:"armed,omitempty"`
	// RebootRequired is true when /run/reboot-required is there for another
	// reason than Kubernetes: the operating system wants it. RebootReason is a
	// sentence that says so. Flatcar's update_engine is asked over the bus, see
	// Client.UpdateEngine.
	RebootRequired bool   `json:"rebootRequired,omitempty"`
	RebootReason   string `json:"rebootReason,omitempty"`
	// FreeBytes is the room left where images are stored.
	FreeBytes int64 `json:"freeBytes"`
	// Guard is the guard that was armed last, if any.
	Guard *Guard `json:"guard,omitempty"`
	// Node is what preflight has to know, see package nodefacts.
	Node v1alpha1.NodeFacts `json:"node"`
}
