package verb

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// NoKubernetes is HostFacts.Active of a node that would boot without Kubernetes.
const NoKubernetes = "none"

// HostFacts are what the verb "facts" finds on a node. Versions have the form
// v1.34.4; an empty one is unknown or absent.
type HostFacts struct {
	BootID string `json:"bootID"`
	// SoftReboots is how many soft reboots there were in this boot.
	SoftReboots int32 `json:"softReboots,omitempty"`
	// Unsupported is why Kubernetes is not installed as a sysext image in the bakery's
	// layout. Nil: it is.
	Unsupported *v1alpha1.Problem `json:"unsupported,omitempty"`
	// Installed are the versions with an image on the disk, oldest first.
	Installed []string `json:"installed,omitempty"`
	// Active is the version that the symlink points to, which the next boot merges. If
	// it points to no such image, Active is empty; or NoKubernetes, if Kubernetes comes
	// from an image and the next boot would find none, because the symlink or the file
	// that it points to is gone.
	Active string `json:"active,omitempty"`
	// Extensions are the system extensions beside that of Kubernetes that are merged, and Unmerged those with a file or
	// folder from which they could be.
	Extensions []string `json:"extensions,omitempty"`
	Unmerged   []string `json:"unmerged,omitempty"`
	// Plugins are the names of the kubelet's plugins, such as CSI drivers, at whose sockets a program listens.
	Plugins []string `json:"plugins,omitempty"`
	// Merged is the version that is merged into /usr in this boot.
	Merged string `json:"merged,omitempty"`
	// MissingImage is where the image of Merged should be, if it is not on the disk: nothing could
	// return the node to it. Empty if it is.
	MissingImage string `json:"missingImage,omitempty"`
	// Kubeadm is the last `kubeadm upgrade` that the agent ran and that completed
	// since the node joined. It is only a record: StaticPods has what runs.
	Kubeadm KubeadmDone `json:"kubeadm,omitzero"`
	// ControlPlane reports whether the node has a static pod of kube-apiserver, and EtcdMember
	// whether it has one of etcd.
	ControlPlane bool `json:"controlPlane"`
	EtcdMember   bool `json:"etcdMember,omitempty"`
	// StaticPods maps a control-plane component, such as kube-apiserver, to the tag of the
	// image in its manifest, which is empty if the manifest cannot be understood.
	StaticPods map[string]string `json:"staticPods,omitempty"`
	// Confs are the files in the node's own sysupdate definitions.
	Confs []string `json:"confs,omitempty"`
	// ConfProblem is why staging would refuse Confs; empty if it would not.
	ConfProblem string `json:"confProblem,omitempty"`
	// Armed reports whether the node's own systemd-sysupdate has activated an
	// image, could do so, or could delete one that is needed. The verb "disarm"
	// corrects that.
	Armed bool `json:"armed,omitempty"`
	// RebootRequired reports whether the operating system asks for a reboot:
	// /run/reboot-required exists for a reason other than Kubernetes.
	// RebootReason is a sentence that explains it. The status of Flatcar's
	// update_engine is not included, see Client.UpdateEngine.
	RebootRequired bool   `json:"rebootRequired,omitempty"`
	RebootReason   string `json:"rebootReason,omitempty"`
	// FreeBytes is the free space where images are stored.
	FreeBytes int64 `json:"freeBytes"`
	// HasFiles reports whether kubectl-upgrade keeps files on the node that the verb
	// "uninstall" removes.
	HasFiles bool `json:"hasFiles,omitempty"`
	// CertificatesRenewed is the record of the last renewal of certificates. Nil: there was none.
	CertificatesRenewed *v1alpha1.CertificatesRenewed `json:"certificatesRenewed,omitempty"`
	// RenewalLeft reports whether a renewal of certificates has begun and not ended: it runs, or has left a copy of the
	// former files, which the verb "put-back" puts back.
	RenewalLeft bool `json:"renewalLeft,omitempty"`
	// Guarded reports whether the guard may still return the node to its former version.
	Guarded bool `json:"guarded,omitempty"`
	// Rollback is the record of the last rollback since the last activation, if any.
	Rollback *Rollback `json:"rollback,omitempty"`
	// GuardTried is what the guard tried since the last activation; nil: nothing.
	GuardTried *GuardTried `json:"guardTried,omitempty"`
	// KubeletProblem is what the kubelet's own health endpoint shows to be wrong; empty if
	// nothing is.
	KubeletProblem string `json:"kubeletProblem,omitempty"`
	// CertificateDir is the folder of the kubelet's client certificate, if it is in a file of its own.
	CertificateDir string `json:"certificateDir,omitempty"`
	// ImagesMissing are container images that the verb "pull" got for a version that does not run yet and that are not on the
	// node any more, as the kubelet removes unused ones when the disk is nearly full.
	ImagesMissing []string `json:"imagesMissing,omitempty"`
	// PulledFor is the clusterstate.ConfigurationHash of what they were listed for, and PulledForProxy that of kube-proxy's
	// configuration then. Empty: none were pulled, or kube-proxy's was not known.
	PulledFor      string `json:"pulledFor,omitempty"`
	PulledForProxy string `json:"pulledForProxy,omitempty"`
	// Node has the facts that preflight checks need.
	Node v1alpha1.NodeFacts `json:"node"`
}

// KubeadmDone records a `kubeadm upgrade` that succeeded.
type KubeadmDone struct {
	Version    string    `json:"version,omitempty"`
	Command    string    `json:"command,omitempty"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	// AccessWritten is when KubeletAccess had been written last: kubeadm join writes it anew.
	AccessWritten time.Time `json:"accessWritten,omitzero"`
}

// GuardTried is what the guard tried, each once, so that a node came up.
type GuardTried struct {
	// Upgrade is the UID of the ClusterUpgrade that activated the image.
	Upgrade string `json:"upgrade,omitempty"`
	// Merge reports whether it merged the image once more.
	Merge bool `json:"merge,omitempty"`
	// Kubelet is how the kubelet had ended when the guard started it once more. Empty: it has not.
	Kubelet string `json:"kubelet,omitempty"`
}

// String returns what was tried; empty: nothing.
func (t GuardTried) String() string {
	var tries []string
	if t.Merge {
		tries = append(tries, "one more merge")
	}
	if t.Kubelet != "" {
		tries = append(tries, fmt.Sprintf("one more start of kubelet.service, which systemd had given up on (%s)", t.Kubelet))
	}
	return strings.Join(tries, " and ")
}

// Rollback records that the guard returned, or is returning, to the former version.
type Rollback struct {
	// Upgrade is the UID of the ClusterUpgrade that was rolled back.
	Upgrade string `json:"upgrade,omitempty"`
	From    string `json:"from"`
	To      string `json:"to"`
	// Message says what was wrong with To.
	Message string `json:"message"`
	// Log is what the guard found before it changed anything: what was merged, and the states of
	// systemd-sysext, containerd and the kubelet with the ends of their journals.
	Log       string    `json:"log,omitempty"`
	StartedAt time.Time `json:"startedAt"`
	// BootID is the boot (see BootName) in which the rollback last changed something, and
	// Reboots how often it has rebooted the node.
	BootID  string `json:"bootID"`
	Reboots int    `json:"reboots,omitempty"`
	// FinishedAt is when From was merged again and all files were restored. Zero means
	// that the guard has not finished.
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	// Impossible reports whether the guard ended without returning the node: the image of
	// From is gone, or cannot be merged either.
	Impossible bool `json:"impossible,omitempty"`
	// NoNetwork reports whether the node had no network with To.
	NoNetwork bool `json:"noNetwork,omitempty"`
	// NodesFault reports whether the cause is the node's own, so that it says nothing about To.
	NodesFault bool `json:"nodesFault,omitempty"`
}

// Finished reports whether the guard has finished: From is merged again, or never will be.
func (r *Rollback) Finished() bool { return !r.FinishedAt.IsZero() }
